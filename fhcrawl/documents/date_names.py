"""Names of months and zones that no specification of feeds has."""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

ENGLISH = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# Of each language, the months in order: names in the cases of dates, then abbreviations. A name means the
# same month in all of them; Croatian is left out, where listopad is October.
MONTHS_OF_LANGUAGES = {
    "Czech": "leden ledna led|únor února úno|březen března bře|duben dubna dub|květen května kvě"
    "|červen června čvn|červenec července čvc|srpen srpna srp|září zář|říjen října říj"
    "|listopad listopadu|prosinec prosince pro",
    "Danish and Norwegian": "januar|februar|marts mars|april|maj mai|juni|juli|august|september|oktober okt"
    "|november|december desember des",
    "Dutch": "januari|februari|maart mrt|april|mei|juni|juli|augustus|september|oktober okt"
    "|november|december",
    "Finnish": "tammikuuta tammikuu tammi|helmikuuta helmikuu helmi|maaliskuuta maaliskuu maalis"
    "|huhtikuuta huhtikuu huhti|toukokuuta toukokuu touko|kesäkuuta kesäkuu kesä|heinäkuuta heinäkuu heinä"
    "|elokuuta elokuu elo|syyskuuta syyskuu syys|lokakuuta lokakuu loka|marraskuuta marraskuu marras"
    "|joulukuuta joulukuu joulu",
    "French": "janvier janv|février fevrier févr fév fevr|mars|avril avr|mai|juin|juillet juil|août aout aoû"
    "|septembre sept|octobre|novembre|décembre decembre déc",
    "German": "januar jänner jän|februar feber|märz maerz mär mrz|april|mai|juni|juli|august|september"
    "|oktober okt|november|dezember dez",
    "Greek": "ιανουαρίου ιανουάριος ιαν|φεβρουαρίου φεβρουάριος φεβ|μαρτίου μάρτιος μαρ μάρ"
    "|απριλίου απρίλιος απρ|μαΐου μάιος μαϊ μάι|ιουνίου ιούνιος ιουν ιούν|ιουλίου ιούλιος ιουλ ιούλ"
    "|αυγούστου αύγουστος αυγ αύγ|σεπτεμβρίου σεπτέμβριος σεπ|οκτωβρίου οκτώβριος οκτ"
    "|νοεμβρίου νοέμβριος νοε νοέ|δεκεμβρίου δεκέμβριος δεκ",
    "Hungarian": "január|február febr|március márc|április ápr|május máj|június jún|július júl|augusztus"
    "|szeptember szept|október okt|november|december",
    "Italian": "gennaio gen|febbraio feb|marzo mar|aprile apr|maggio mag|giugno giu|luglio lug|agosto ago"
    "|settembre set|ottobre ott|novembre nov|dicembre dic",
    "Polish": "stycznia styczeń sty|lutego luty lut|marca marzec|kwietnia kwiecień kwi|maja maj"
    "|czerwca czerwiec cze|lipca lipiec lip|sierpnia sierpień sie|września wrzesień wrz"
    "|października październik paź|listopada listopad lis|grudnia grudzień gru",
    "Portuguese": "janeiro|fevereiro fev|março marco|abril abr|maio mai|junho|julho|agosto ago|setembro set"
    "|outubro out|novembro|dezembro dez",
    "Romanian": "ianuarie ian|februarie|martie|aprilie|mai|iunie iun|iulie iul|august|septembrie|octombrie"
    "|noiembrie noi|decembrie",
    "Russian": "января январь янв|февраля февраль фев февр|марта март мар|апреля апрель апр|мая май"
    "|июня июнь июн|июля июль июл|августа август авг|сентября сентябрь сен сент|октября октябрь окт"
    "|ноября ноябрь ноя нояб|декабря декабрь дек",
    "Spanish": "enero ene|febrero|marzo|abril abr|mayo may|junio|julio|agosto ago|septiembre setiembre set"
    "|octubre|noviembre|diciembre dic",
    "Swedish": "januari|februari|mars|april|maj|juni|juli|augusti|september|oktober okt|november|december",
    "Turkish": "ocak oca|şubat şub|mart|nisan nis|mayıs|haziran haz|temmuz tem|ağustos ağu|eylül eyl"
    "|ekim eki|kasım kas|aralık ara",
    "Ukrainian": "січня січень січ|лютого лютий лют|березня березень бер|квітня квітень квіт"
    "|травня травень трав|червня червень черв|липня липень лип|серпня серпень серп"
    "|вересня вересень вер|жовтня жовтень жовт|листопада листопад лист|грудня грудень груд",
}
MONTHS = {
    name: english
    for months in MONTHS_OF_LANGUAGES.values()
    for english, names in zip(ENGLISH, months.split("|"), strict=True)
    for name in names.split()
}
# Words of the same languages around the parts of a date: of, at, o'clock, year.
WORDS = frozenset(
    (
        *("de", "del", "d", "en", "den", "the", "of", "à", "a", "às", "as", "las"),
        *("la", "los", "um", "uhr", "om", "uur", "alle", "ore", "kl", "o", "g", "r"),
        *("roku", "г", "года", "в", "у"),
    )
)
WORD = re.compile(r"(?P<word>[^\W\d_]+)\.?")
HOURS = re.compile(r"\b(\d{1,2})\s?h\s?(\d\d)\b", re.IGNORECASE)
ORDINAL = re.compile(r"\b1(?:er|ère|º|°|o)(?=\s)", re.IGNORECASE)

# In the United States, these names mean standard time in winter and daylight time in summer.
ZONES = {
    "ET": "America/New_York",
    "CT": "America/Chicago",
    "MT": "America/Denver",
    "PT": "America/Los_Angeles",
    "AKT": "America/Anchorage",
}


def in_english(text: str) -> str | None:
    """Return a date with its month in English; None if no month of another language is in it."""
    known = False
    first = WORD.match(text)
    # "mar." is Tuesday before a month, in French and other languages.
    if first and first["word"].lower() in MONTHS:
        others = (word["word"].lower() for word in WORD.finditer(text, first.end()))
        text = text[first.end() :].lstrip() if any(other in MONTHS for other in others) else text

    def replace(match: re.Match[str]) -> str:
        nonlocal known
        word = match["word"].lower()
        if word in MONTHS:
            known = True
            return f" {MONTHS[word]} "
        return " " if word in WORDS else match[0]

    replaced = WORD.sub(replace, HOURS.sub(r"\1:\2", ORDINAL.sub("1", text)))
    return replaced if known else None


# Names from feeds are no paths of files.
_zones = lru_cache(maxsize=1)(available_timezones)


def zone(name: str) -> ZoneInfo | None:
    """Return the zone of a name of the IANA's database, or of one that its users have for two offsets."""
    name = ZONES.get(name.upper(), name)
    return ZoneInfo(name) if "/" in name and name in _zones() else None
