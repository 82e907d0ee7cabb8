"""A real WordPress of the tests' own, on loopback: Debian's package, MariaDB and PHP's web server."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.ports import NoServerError, answers, free_port, started

MISSING = "WordPress was not found: apt-get install wordpress php-cli php-mysql mariadb-server-core ({0})"
PACKAGE = Path("/usr/share/wordpress")
# Debian keeps it off a user's PATH.
MARIADB_FOLDERS = ("/usr/sbin", "/usr/libexec")

CONFIGURATION = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . __DIR__ . '/../socket');
// Not included: opcache would keep what it was some seconds ago.
define('WP_HOME', @file_get_contents(__DIR__ . '/../home') ?: 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
$table_prefix = 'wp_';
require ABSPATH . 'wp-settings.php';
"""
# Without pretty permalinks, a web server has no files but those of WordPress.
ROUTER = """<?php
file_put_contents(__DIR__ . '/requests', $_SERVER['REQUEST_URI'] . "\\n", FILE_APPEND);
define('ABSPATH', __DIR__ . '/site/');
define('WP_USE_THEMES', true);
require ABSPATH . 'wp-load.php';
// Not included: opcache would keep what it was some seconds ago.
eval(@file_get_contents(__DIR__ . '/plugin.php'));
$is_file = in_array(strtok($_SERVER['REQUEST_URI'], '?'), ['/', '/index.php']);
if (!$is_file && !get_option('permalink_structure')) {
    http_response_code(404);
    return;
}
require ABSPATH . 'wp-blog-header.php';
"""
# Nobody is told of the new site by e-mail, and it has no sample post.
INSTALLATION = """
define('WP_INSTALLING', true);
function wp_new_blog_notification(...$arguments) {}
function wp_install_defaults(...$arguments) {}
$database = new mysqli('localhost', 'root', '', '', 0, __DIR__ . '/socket');
$database->query('CREATE DATABASE wordpress');
require ABSPATH . 'wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A site', 'admin', 'admin@example.org', true, '', bin2hex(random_bytes(16)));
wp_insert_term('Uncategorized', 'category');
wp_insert_term('News', 'category');
"""


EMPTYING = """
foreach (['posts', 'postmeta', 'comments', 'term_relationships'] as $table) {
    $wpdb->query("TRUNCATE {$wpdb->prefix}$table");
}
wp_cache_flush();
update_option('permalink_structure', '');
"""
# A post for each hour, the newest last; PHP's date takes seconds.
POSTING = """
foreach (range(%d, %d) as $number) {
    $time = gmdate('Y-m-d H:i:s', 1600000000 + 3600 * $number);
    wp_insert_post([
        'post_title' => "Post $number", 'post_content' => "Text $number", 'post_author' => 1,
        'post_status' => 'publish', 'post_category' => [%d],
        'post_date' => $time, 'post_date_gmt' => $time,
    ], true);
}
"""

# Comments on the first post, one a minute.
COMMENTING = """
foreach (range(1, %d) as $number) {
    $time = gmdate('Y-m-d H:i:s', 1600000000 + 60 * $number);
    wp_insert_comment([
        'comment_post_ID' => 1, 'comment_content' => "Comment $number", 'comment_approved' => 1,
        'comment_date' => $time, 'comment_date_gmt' => $time,
    ]);
}
"""


class WordPress:
    """A site without posts; `run` changes it, as a plugin would.

    :param folder: what the site has of its own
    """

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._php = _program("php")
        self._port = port
        self.root = f"http://127.0.0.1:{port}"

    def url(self, path: str) -> str:
        return self.root + path

    def run(self, code: str) -> str:
        return self._run(f"require ABSPATH . 'wp-load.php';\n{code}")

    def _run(self, code: str) -> str:
        host = f"$_SERVER['HTTP_HOST'] = '127.0.0.1:{self._port}';"
        script = self._folder / "script.php"
        script.write_text(f"<?php\ndefine('ABSPATH', __DIR__ . '/site/');\n{host}\n{code}", encoding="utf-8")
        done = subprocess.run(
            [self._php, "-d", "display_errors=stderr", str(script)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or done.stderr:
            raise NoServerError(f"PHP failed: {done.stdout}{done.stderr}")
        return done.stdout

    def empty(self) -> None:
        self.run(EMPTYING)
        self.use_plugin("")
        (self._folder / "home").unlink(missing_ok=True)
        self.requests()

    def post(self, first: int, last: int, category: int = 1) -> None:
        self.run(POSTING % (first, last, category))

    def comment(self, number: int) -> None:
        self.run(COMMENTING % number)

    def use_permalinks(self) -> None:
        self.run("update_option('permalink_structure', '/%postname%/'); delete_option('rewrite_rules');")

    def move(self, host: str) -> None:
        (self._folder / "home").write_text(f"http://{host}:{self._port}", encoding="utf-8")

    def use_plugin(self, code: str) -> None:
        """Run PHP before each answer, as a plugin would, in place of the code of the last call."""
        (self._folder / "plugin.php").write_text(code, encoding="utf-8")

    def requests(self) -> list[str]:
        log = self._folder / "requests"
        found = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    def install(self) -> None:
        site = self._folder / "site"
        site.mkdir()
        for path in PACKAGE.iterdir():
            if path.name != "wp-config.php":
                (site / path.name).symlink_to(path)
        (site / "wp-config.php").write_text(CONFIGURATION, encoding="utf-8")
        (self._folder / "router.php").write_text(ROUTER, encoding="utf-8")
        self._run(INSTALLATION)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        command = (self._php, "-d", "opcache.enable_cli=1", "-S", f"127.0.0.1:{self._port}", "router.php")
        with started(command, self._folder / "php.log", partial(answers, self._port)):
            yield


@contextlib.contextmanager
def serving() -> Iterator[WordPress]:
    """Start a WordPress without posts.

    :raises NoServerError: if there is none
    """
    if not PACKAGE.exists():
        raise NoServerError(MISSING.format(PACKAGE))
    with tempfile.TemporaryDirectory(prefix="fhcrawl-wordpress-") as name:
        folder = Path(name)
        wordpress = WordPress(folder, free_port())
        with _database(folder):
            wordpress.install()
            with wordpress.serving():
                yield wordpress


@contextlib.contextmanager
def _database(folder: Path) -> Iterator[None]:
    """MariaDB, that nobody but this user reaches: it has no password, and a socket in a folder of its own."""
    user = ("--user=root",) if os.geteuid() == 0 else ()
    data = ("--no-defaults", f"--datadir={folder / 'data'}", "--innodb-log-file-size=8M", *user)
    with (folder / "install.log").open("wb") as log:
        command = [_program("mariadb-install-db"), *data, "--auth-root-authentication-method=normal"]
        done = subprocess.run([*command, "--skip-test-db"], stdout=log, stderr=log, check=False)
    if done.returncode:
        log_text = (folder / "install.log").read_text(errors="replace").strip()
        raise NoServerError(f"mariadb-install-db failed: {log_text}")
    at = folder / "socket"
    # Tests lose no data that anybody wants back.
    options = (f"--socket={at}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin")
    with started([_program("mariadbd"), *data, *options], folder / "mariadbd.log", partial(_is_up, at)):
        yield


def _is_up(at: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(at))
        return True
    return False


def _program(name: str) -> str:
    path = os.pathsep.join((os.environ.get("PATH", ""), *MARIADB_FOLDERS))
    found = shutil.which(name, path=path)
    if found is None:
        raise NoServerError(MISSING.format(name))
    return found
