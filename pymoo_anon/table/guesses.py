"""Guesses: which role a column has, from its name and its values, and whether it may be released as it stands.

A guess errs on the side of the persons: what may name somebody is not released until a person says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from pymoo_anon.table.domain_values import Name, is_missing, is_number, is_whole, same_as, spelled
from pymoo_anon.table.draft_levels import looks_like_a_date
from pymoo_anon.table.frames import aliased, combinations_of, fetched

#: Values of columns with more distinct ones are not fetched: nobody edits a hierarchy of so many rows.
MOST_VALUES = 100_000
#: Fewer rows do not tell whether values repeat.
TELLING = 20


def _set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


# What the words of a name say, in English, German, Spanish and French. Words of four letters and more may also begin or
# end a longer one, as in "Geburtsdatum".
_WORDS = {
    "identifier": """
        name surname forename firstname lastname fullname middlename maiden vorname nachname familienname username
        nombre apellido apellidos prenom nom initials email mail correo courriel phone telephone telefon telefono tel
        telecom mobile handy fax street strasse calle address adresse direccion anschrift ssn mrn passport passnummer
        passeport pasaporte driver drivers ausweis iban konto accountnumber licence license plate url ip imei msisdn vin
        steuernummer signature photo dni nie curp rfc nif nir identifier uuid guid pseudonym token hash securite
    """,
    "person": """
        person patient subject customer client member participant proband kunde versicherte versicherter pid uid user
        employee emp passenger officer student respondent applicant borrower voter beneficiary insured mitarbeiter
        paciente cliente usuario assure
    """,
    "quasi-identifier": """
        age alter edad birth birthday birthplace dob born geburt geburtsdatum naissance nacimiento sex gender geschlecht
        sexo sexe race ethnicity ethnic hispanic latino zip zipcode plz postleitzahl postcode postal city town stadt ort
        wohnort gemeinde county country land bundesland state region kreis district dist precinct municipality municipio
        municipal commune provincia province entidad departement department location place area residence home
        housing house nationality nation nacionalidad nationalite citizen citizenship staatsangehoerigkeit foreign
        veteran military marital marriage married familienstand civil familiale family personal relationship partner
        household children child kinder kinderzahl kids dependents spouse siblings parents guardian senior education edu
        educativo bildung etudes schulabschluss abschluss degree school schule university occupation ocupacion beruf job
        profession workclass employment employer work working hours position title department admission admit aufnahme
        discharge disch entlassung entlass death dod deceased disposition hospital insurance krankenkasse payer language
        sprache height weight bmi year jahr annee ano date datum fecha month monat mois mes day tag weekday wochentag
        jour dia week hire hired time zeit hora heure lat latitude lon lng long longitude coordinates geo gps jail
        embarked pclass auto vehicle car residenz wohn geography geographic origin origine origen ancestry tribe caste
        migrant migration immigrant immigration visa pays pais ville ciudad localidad barrio quartier neighborhood
        neighbourhood borough tract parish village suburb metro urban rural continent territory zone landkreis viertel
        company firm organization organisation employeur empresa arbeitgeber industry branche sector seniority campus
        semester enrolled enrollment studiengang faculty retired retirement retraite rentner unemployed erwerb sibs
        geschwister hermanos sohn tochter son daughter mother father parent wife husband widowed single divorced
        yob titel klasse occupancy eye lives living room zimmer boro rank
        salutation anrede hair eyes complexion clinic klinik arrival departure ankunft visit interpreter built
    """,
    "sensitive": """
        diagnosis diag diagnose hauptdiagnose diagnostico diagnostic icd drg disease krankheit illness maladie
        enfermedad condition symptom treatment behandlung therapy medication drug insulin metformin glucose glu serum
        procedure salary gehalt salario salaire income inc einkommen ingresos wage lohn earnings bonus pay rate gain
        loss balance bal loan debt credit savings charges charge expenses amount amt bill claim fraud default delinq
        dti fico religion konfession belief party political orientation hiv test result befund score rating performance
        satisfaction attrition churn survived readmitted recid recidivism priors prior fel felony offense crime arrest
        contraband citation health mental disability handicap smoker smoke smoking alcohol hobbies grade failures
        romantic outcome expire termination term entlassgrund manner property limit relig politic ideolog vote partei
        partyid polviews sexual abortion contracept pregnan schwanger gravid stroke cancer tumor tumour bp systolic
        diastolic pressure pulse heart cholesterol hemoglobin haemoglobin biopsy stage severity risk mortality survival
        surviv vaccin impf allerg surgery operation dose mutation gene genotype depress anxiety suicid addict substance
        tobacco cigarette drinks convict sentence prison victim weapon violation disciplin union gewerkschaft exited
        churned cancelled resigned dismissed price cost premium revenue profit assets worth mortgage rent miete tax
        steuer spending spent purchase payment deposit overdraft arrears homeless poverty welfare benefits history
        blood blutgruppe comorbid chronic disorder syndrome injury pain verdict asylum
    """,
}
_ROLE_OF = {word: role for role, words in _WORDS.items() for word in words.split()}
_MEANINGS = {
    "identifier": "names a person",
    "person": "tells whose row it is",
    "quasi-identifier": "is what others may know of a person",
    "sensitive": "is what nobody should learn of a person",
}
_PARTS = tuple(word for word in _ROLE_OF if len(word) > 3)

# Names that mean something as a whole only, digits and underscores at their ends aside: parts of names of persons, and
# the codebooks of the census (PUMS, IPUMS), NHIS and BRFSS.
_WHOLE = {
    "identifier": "id key index row first last given family middle serialno serial seqno hhx hhid caseid ncid cabin",
    "quasi-identifier": """
        agep puma st statefip countyfip mar marst cit racp hisp schl educ occp indp pobp bpl cow esr mil jwmnp wkhp
        nativity fer birthyr famsize nchild ownershp marriage famsize medu fedu mjob fjob pstatus traveltime sibsp parch
        agegyr veteran employ idate imonth iyear region maritl racerpi los
    """,
    "sensitive": """
        pincp wagp dis hhincome hypev canev smkstat genhlth physhlth menthlth diabete income hivtst smoke dalc walc
        acresult
    """,
}
_WHOLE_ROLE = {word: role for role, words in _WHOLE.items() for word in words.split()}

# Words that make a name one of a number, of a count, or of a few codes.
_IDS = _set("id ids nr no nbr num number nummer numero key serial identifier uuid guid hash ref record")
_ID_ENDS = ("nummer", "number", "numero", "kennung", "schluessel")
_COUNTS = _set("number num n nb no count cnt anzahl total")
_CODES = _set("type source disposition concept category cat class group reason status level kind")
_DESCRIBED = _CODES | _set("flag service state verified suffix")
_TIMES = _set("year month day week date time")
# A name that goes with one of these is that of a place or an institution.
_NAMED_PLACES = _set("city town county country state region district boro borough school hospital department company")
_PLACES = _set("lat latitude lon lng long longitude coordinates geo gps")


class Guess(NamedTuple):
    """What a column is taken for.

    Attributes:
        role: "identifier", "person", "quasi-identifier", "sensitive", "drop" (it tells nothing), or "other" where
            nothing tells what it is.
        reason: Why, in one line without any value of the column.
        danger: Why the column must not be released as it stands, or None where nothing speaks against it.
    """

    role: str
    reason: str
    danger: str | None


class Profile(NamedTuple):
    """What a column holds: its distinct values with their counts, what is missing as None; none where they are many."""

    name: Name
    n_rows: int
    n_distinct: int
    n_missing: int
    values: Sequence[Any]
    counts: Sequence[int]

    @property
    def is_unique(self) -> bool:
        """Whether no value stands in two rows, in a table where that means something."""
        return self.n_distinct == self.n_rows - self.n_missing and self.n_distinct > 1

    @property
    def is_nearly_unique(self) -> bool:
        """Whether a value stands in fewer than two rows on average, in a table where that means something."""
        n_present = self.n_rows - self.n_missing
        return n_present >= TELLING and 2 * self.n_distinct > n_present

    def __str__(self) -> str:
        """The counts in words, without any value."""
        distinct = f"{self.n_distinct:,} distinct value{'s' * (self.n_distinct != 1)}"
        return distinct + (f", {self.n_missing:,} missing" if self.n_missing else "")


def guess_role(name: Name, values: Iterable[Any]) -> Guess:
    """Guess what a column is, and whether it may be released as it stands.

    Args:
        name: Its name.
        values: Its values, a row each: a series of pandas, polars or narwhals, or any other iterable.

    Returns:
        The role, why, and what speaks against a release of the column as it stands.

    Raises:
        TypeError: A value is a list or the like.

    >>> guess_role("contact", ["ann@example.org", "bob@example.org", None])
    Guess(role='identifier', reason='it holds e-mail addresses', danger='it holds e-mail addresses')
    >>> guess_role("sex", ["F", "M", "M"]).role
    'quasi-identifier'
    """
    firsts: dict[Any, Any] = {}
    counts: Counter[Any] = Counter()
    for value in values.to_list() if hasattr(values, "to_list") else values:
        if not isinstance(value, Hashable):
            raise TypeError(f"values must be single ones, such as text and numbers, got {type(value).__name__}")
        key = None if is_missing(value) else same_as(value)
        firsts.setdefault(key, None if key is None else value)
        counts[key] += 1
    # Both hold their keys in one order.
    n_missing, n_distinct = counts[None], len(firsts) - (None in firsts)
    held = [*firsts.values()], [counts[key] for key in firsts]
    return guess_of(Profile(name, counts.total(), n_distinct, n_missing, *held))


def guesses_of(frame: Any, names: Sequence[Name]) -> dict[Name, Guess]:
    """Guess what some columns of a frame are, as `guess_role` does; it is counted where it lives.

    Args:
        frame: pandas, polars, pyarrow, DuckDB, Dask or Spark.
        names: The columns.

    Returns:
        A guess for each.

    Raises:
        ValueError: The frame has no row.
        TypeError: A column holds lists or the like.
    """
    return {profile.name: guess_of(profile) for profile in profiles_of(frame, names)}


def guess_of(profile: Profile) -> Guess:
    """The guess for a column that was counted."""
    looks = _Looks.of(profile)
    role, reason = _role(profile, words_of(str(profile.name)), looks)
    danger = None
    if role in ("identifier", "person"):
        danger = reason
    elif profile.is_nearly_unique:
        danger = f"it is nearly unique: {profile.n_distinct:,} values in {profile.n_rows - profile.n_missing:,} rows"
    elif profile.n_distinct > 1 and looks.are_dates:
        danger = "it holds dates, which others may know of a person"
    elif profile.n_distinct > 1 and looks.are_places:
        danger = "it holds coordinates, which are places of a person"
    return Guess(role, reason, danger)


def profiles_of(frame: Any, names: Sequence[Name]) -> list[Profile]:
    """The profiles of the columns of a frame, counted where it lives."""
    native, aliases = aliased(frame, names)
    asked = [nw.len().alias("n")]
    for alias in aliases:
        asked += [nw.col(alias).n_unique().alias(f"distinct {alias}")]
        asked += [nw.col(alias).null_count().alias(f"missing {alias}")]
    (row,) = fetched(nw.from_native(native).select(*asked)).rows(named=True)
    if not row["n"]:
        raise ValueError("the table must have at least one row, got none")
    made = []
    for name, alias in zip(names, aliases, strict=True):
        n_missing = row[f"missing {alias}"]
        # What is missing is one of the unique values.
        empty = Profile(name, row["n"], row[f"distinct {alias}"] - (n_missing > 0), n_missing, [], [])
        made.append(empty if empty.n_distinct > MOST_VALUES else _with_values(empty, native, alias))
    return made


def _with_values(profile: Profile, frame: Any, column: str) -> Profile:
    """A profile with the values of its column, counted."""
    found = combinations_of(frame, [column])
    values = found.columns[column].astype(object)
    absent = values.isna().to_numpy()
    # A number that is none, NaN, is missing too.
    return profile._replace(
        n_distinct=int(np.count_nonzero(~absent)),
        n_missing=int(found.weights[absent].sum()),
        values=[None if gone else value for value, gone in zip(values.tolist(), absent, strict=True)],
        counts=found.weights.tolist(),
    )


def words_of(name: str) -> list[str]:
    """The words of a name in small letters, without accents.

    >>> words_of("dateOfBirth"), words_of("Straße_Nr"), words_of("ZIP-Code")
    (['date', 'of', 'birth'], ['strasse', 'nr'], ['zip', 'code'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("ß", "ss")
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")):
        parted = parted.replace(umlaut, letters)
    bare = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode().lower()
    return re.findall(r"[a-z]+", bare)


# What values look like: texts of so many signs or more are prose.
_PROSE = 40
# So many of the values are looked at, and this share of them must look alike.
_SAMPLE = 2000
_ALIKE = 0.9
_PATTERNS = {
    "e-mail addresses": r"[^@\s]+@[^@\s][^@\s.]*\.[^@\s]+",
    "addresses of pages": r"https?://\S+",
    "addresses of machines": r"\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "IBANs": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?",
    "phone numbers": r"(?:\+\d|\(\d{2,5}\)|0\d{2,4}[ /-]|\d{3}[-. ]\d{3}[-. ]\d{4})[\d ()/.-]{0,16}",
    "unique keys": r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|[0-9a-f]{32,64}",
}
_PLACE = r"(?:POINT ?)?\(?\s*-?\d{1,3}\.\d+[ ,;]+-?\d{1,3}\.\d+\s*\)?"
# Values that others may know of a person, parted by strokes.
_KNOWN_VALUES = {
    "sexes": """
        m|f|male|female|man|woman|boy|girl|w|d|mann|frau|männlich|weiblich|divers|h|hombre|mujer|homme|femme|unknown|other
    """,
    "marital states": """
        single|married|divorced|widowed|widow|widower|separated|never married|never-married|partnered|cohabiting|ledig
        |verheiratet|geschieden|verwitwet|soltero|casado|viudo|divorciado|célibataire|marié|divorcé|veuf
    """,
    "races": """
        white|black|asian|hispanic|latino|african american|black or african american|caucasian|native american|pacific
        islander|american indian|mixed|other
    """,
    "countries": """
        germany|france|spain|italy|united kingdom|uk|united states|usa|us|united-states|canada|mexico|brazil|argentina
        |china|india|japan|korea|south korea|russia|poland|netherlands|belgium|austria|switzerland|sweden|norway|denmark
        |finland|ireland|portugal|greece|turkey|ukraine|egypt|nigeria|kenya|south africa|australia|new zealand|pakistan
        |bangladesh|indonesia|philippines|vietnam|thailand|iran|iraq|israel|syria|cuba|colombia|peru|chile|deutschland
        |frankreich|österreich|schweiz|italien|spanien|polen|türkei|españa|de|fr|es|it|gb|ch|at|pl|nl|be|cn|jp|br|mx|ca
    """,
}
_VALUES_OF = {
    kind: frozenset(" ".join(text.split()).replace(" |", "|").split("|")) for kind, text in _KNOWN_VALUES.items()
}


class _Looks(NamedTuple):
    """What the values of a column look like, all but a few of them."""

    numbers: list[float | int]
    pattern: str | None
    are_dates: bool
    are_places: bool
    are_prose: bool
    known: str | None

    @classmethod
    def of(cls, profile: Profile) -> _Looks:
        """Look at the values of a column."""
        values = [value for value in profile.values if value is not None][:_SAMPLE]
        texts = [value for value in values if isinstance(value, str)]

        def alike(test: Callable[[Any], Any], among: Sequence[Any] = values) -> bool:
            return bool(among) and sum(map(bool, map(test, among))) >= _ALIKE * len(values)

        def fits(pattern: str) -> bool:
            return alike(lambda text: re.fullmatch(pattern, text.strip(), re.IGNORECASE), texts)

        numbers = [number for number in (spelled(value, int) for value in values) if is_number(number)]
        if len(numbers) < _ALIKE * len(values):
            numbers = []
        near = bool(numbers) and all(-180 <= number <= 180 for number in numbers)
        words = [text.strip().casefold() for text in texts]
        known = next((kind for kind, held in _VALUES_OF.items() if alike(held.__contains__, words)), None)
        return cls(
            numbers=numbers,
            pattern=next((kind for kind, pattern in _PATTERNS.items() if fits(pattern)), None),
            are_dates=alike(looks_like_a_date),
            are_places=(near and not _PLACES.isdisjoint(words_of(str(profile.name)))) or fits(_PLACE),
            are_prose=bool(texts) and sum(map(len, texts)) >= _PROSE * len(values),
            known=known if len(values) > 1 else None,
        )

    @property
    def are_whole(self) -> bool:
        """Whether all of them are whole numbers."""
        return bool(self.numbers) and all(is_whole(number) or number == number // 1 for number in self.numbers)


def _role(profile: Profile, words: list[str], looks: _Looks) -> tuple[str, str]:
    """The role of a column and why: values of one kind, then the name, then how often values repeat."""
    if profile.n_distinct == 0:
        return "drop", "it holds no value at all"
    if profile.n_distinct == 1 and not profile.n_missing and profile.n_rows > 1:
        return "drop", "it holds one value, which tells nothing"
    if looks.pattern is not None:
        return "identifier", f"it holds {looks.pattern}"
    if looks.are_prose and profile.is_nearly_unique:
        return "identifier", "it holds long texts, which may name persons"
    return _by_name(profile, words, looks) or _by_values(profile, looks)


def _by_name(profile: Profile, words: list[str], looks: _Looks) -> tuple[str, str] | None:
    """What the name of a column says, or None."""
    if not words:
        return None
    whole = _WHOLE_ROLE.get("".join(words))
    if whole == "identifier" and words[0] == "id" and not profile.is_nearly_unique and profile.n_rows >= TELLING:
        return "person", "the name says 'id', and values repeat: it tells whose row it is"
    if whole is not None:
        return whole, f"the name is {profile.name!r}, which {_MEANINGS[whole]}"
    said = {word: role for word in words if (role := _said_by(word)) is not None}
    if not _is_count(words, looks):
        found = _by_number(profile, words, said) or _by_identifier(profile, words, said)
        if found is not None:
            return found
    few = profile.n_distinct <= 2 and profile.n_rows >= TELLING
    for word in reversed(words):
        role = said.get(word)
        if role in ("quasi-identifier", "sensitive") and not (few and word in _TIMES):
            return role, f"the name says {word!r}, which {_MEANINGS[role]}"
    return None


def _said_by(word: str) -> str | None:
    """The role that a word speaks of."""
    if word in _ROLE_OF:
        return _ROLE_OF[word]
    parts = [part for part in _PARTS if word.startswith(part) or word.endswith(part)]
    # What may name a person counts first, then the longest.
    part = max(parts, key=lambda part: (_ROLE_OF[part] == "identifier", len(part)), default=None)
    return None if part is None else _ROLE_OF[part]


def _is_count(words: list[str], looks: _Looks) -> bool:
    """Whether a column says how many there are of something."""
    named = len(words) > 1 and (words[0] in _COUNTS or words[-1] in ("count", "cnt", "anzahl"))
    return named and looks.are_whole and max(looks.numbers) < 10_000


def _by_number(profile: Profile, words: list[str], said: dict[str, str]) -> tuple[str, str] | None:
    """What a name says that speaks of a number or a key: of a person, of anything else, or of a few codes."""
    ids = [word for word in words if word in _IDS or word.endswith(_ID_ENDS)]
    if not ids:
        return None
    person = next((word for word, role in said.items() if role == "person"), None)
    coded = bool(set(words) & _CODES)
    if person is not None and not coded:
        if profile.is_unique and (profile.is_nearly_unique or profile.n_rows < TELLING):
            return "identifier", f"the name says {person!r} and {ids[0]!r}, and every value is another one"
        return "person", f"the name says {person!r} and {ids[0]!r}, which tells whose row it is"
    if _repeats(profile) or (coded and not profile.is_nearly_unique):
        return None
    place = next((word for word in words if said.get(word) == "quasi-identifier"), None)
    if place in ("location", "place", "area", "region") and not profile.is_nearly_unique:
        return None
    return "identifier", f"the name says {ids[0]!r}: a number of a person or of something that is theirs"


def _repeats(profile: Profile) -> bool:
    """Whether a value stands in five rows on average, as a code does and the number of a person hardly."""
    return profile.n_rows >= TELLING and profile.n_rows - profile.n_missing >= 5 * profile.n_distinct


def _by_identifier(profile: Profile, words: list[str], said: dict[str, str]) -> tuple[str, str] | None:
    """What a name says that speaks of somebody's name or address, or of a person alone."""
    # Two values name nobody, such as whether there is a telephone.
    if profile.n_distinct <= 2 and profile.n_rows >= TELLING:
        return None
    named = next((word for word in words if said.get(word) == "identifier"), None)
    described = (
        words[-1] in _DESCRIBED
        or said.get(words[-1]) in ("quasi-identifier", "sensitive")
        or (named == "name" and bool(_NAMED_PLACES.intersection(words)))
    )
    if named is not None and not (described and _repeats(profile)):
        return "identifier", f"the name says {named!r}, which {_MEANINGS['identifier']}"
    if len(words) == 1 and said.get(words[0]) == "person":
        if profile.is_unique:
            return "identifier", f"the name says {words[0]!r}, and every value is another one"
        return "person", f"the name says {words[0]!r}, which {_MEANINGS['person']}"
    return None


def _by_values(profile: Profile, looks: _Looks) -> tuple[str, str]:
    """What the values of a column say."""
    if looks.are_dates:
        return "quasi-identifier", "it holds dates, which others may know of a person"
    if looks.are_places:
        return "quasi-identifier", "it holds coordinates, which are places of a person"
    if looks.known is not None:
        return "quasi-identifier", f"it holds {looks.known}, which others may know of a person"
    if profile.is_unique and (not looks.numbers or looks.are_whole):
        return "identifier", "every value is another one"
    if profile.is_nearly_unique:
        if not looks.numbers and profile.values:
            return "identifier", "nearly every value is another one"
        return "other", "nearly every value is another number: a measurement, or a number of a person"
    return "other", "nothing tells what it is"
