"""The same findings from every engine that reports may lie in, to the last digit: counted where they are.

One PySpark is really started, for all of its tests; it reads a file of Parquet, as it would in the field.
"""

import io
import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.analysis.reference_survey import DIE, UNRELATED, WARNER, survey
from tests.curator import test_movement
from tests.frames import contract, tables
from tests.needs import program
from tests.survey.samples import cheated, faculty
from tests.survey.samples import survey as campus
from toolkit import Curator, Ledger, Pure
from toolkit.analysis import association, estimates, logistic
from toolkit.analysis import estimating as counted
from toolkit.central.robust import Huber
from toolkit.frames.engines.sql import SparkTable
from toolkit.frames.frame import Frame
from toolkit.frames.persons import Caps, Persons
from toolkit.survey.results import estimate

DATA = survey()
FRAME = pd.DataFrame(
    {
        "forced": DATA.forced,
        "warner": DATA.warner,
        "unrelated": DATA.unrelated,
        "gap": DATA.forced.where(DATA.index % 7 > 0).astype("Int64"),
        "word": np.where(DATA.index % 5 == 0, None, np.where(DATA.forced == 1, "Yes", "no")),
        "truth": DATA.forced == 1,
        "sex": np.where(DATA.index % 11 == 0, None, np.where(DATA.female == 1, "f", "m")),
        "band": DATA.age // 50,
        "faculty": np.where(DATA.female == 1, "arts", "law"),
        "cheated": np.where(DATA.warner == 1, "yes", "no"),
    }
)
DESIGNS = {"forced": DIE, "warner": WARNER, "unrelated": UNRELATED, "gap": DIE, "word": DIE, "truth": DIE}
ENGINES: dict[str, Callable[[Path], Any]] = {
    "pandas": pd.read_parquet,
    "pandas of arrow": lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
    "polars": pl.read_parquet,
    "lazy polars": pl.scan_parquet,
    "pyarrow": pyarrow.parquet.read_table,
    "duckdb": lambda path: duckdb.read_parquet(str(path)),
    "dask": lambda path: import_module("dask.dataframe").from_pandas(pd.read_parquet(path), npartitions=3),
    "ibis": lambda path: import_module("ibis").duckdb.connect().read_parquet(path),
}  # the last two take a second to import: not before they are needed
JAVA = [  # starts sooner: one quick compiler, few collections of garbage, no checks of Spark's own classes
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m", "-Xmn256m", "-XX:-UsePerfData"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
]
OF_OTHERS = [  # what these packages say to themselves of the newest pandas
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:The copy keyword is deprecated",
    "ignore:fetch_arrow_table:DeprecationWarning",
    "ignore:The 'future.infer_string' option is deprecated",
]
pytestmark = [pytest.mark.filterwarnings(one) for one in OF_OTHERS]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("engines") / "reports.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), found)
    return found


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program("java", "Java", "default-jre-headless")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": " ".join(JAVA),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.adaptive.enabled": "false",  # few rows need no plans that are made anew, nor compiled ones
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
    }
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    stderr, written = os.dup(2), os.open(tmp_path_factory.mktemp("spark") / "stderr", os.O_CREAT | os.O_WRONLY)
    os.dup2(written, 2)  # what Java writes there from now on
    session = builder.getOrCreate()
    os.dup2(stderr, 2)
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # it waits for this to end
    gateway.proc.wait(30)


def told(frame: Any) -> dict[str, Any]:
    """Everything that is made from counts, as plain numbers."""
    found = estimates(frame, DESIGNS, by="sex")
    numbers = {(one.question, *one.group): (one.rows, one.missing, one.estimate.value) for one in found.group_estimates}
    pairs = association(frame, {"forced": DIE, "warner": WARNER})
    asked = campus(faculty(), cheated(), check=False)
    fit = logistic("gap ~ sex + C(band)", frame, DIE, missing="drop")
    return {
        "by sex": numbers,
        "missing": found.missing["missing group"].sum(),
        "gaps": found.differences("m").difference.tolist(),
        "change": {sex: one.value for sex, one in found.difference("forced", "warner").items()},
        "pairs": (pairs.table.value.tolist(), pairs.table.se.tolist()),
        "survey": estimate(asked, frame, by="faculty").to_frame().round(12).to_csv(),
        "fit": (fit.value.round(8).tolist(), fit.se.round(8).tolist(), fit.rows),
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return told(FRAME)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_tells_the_same_to_the_last_digit(engine: str, path: Path, expected: Any) -> None:
    assert told(ENGINES[engine](path)) == expected


@pytest.mark.slow
@pytest.mark.spark
def test_and_so_does_a_pyspark_that_runs(spark: Any, path: Path, expected: Any) -> None:
    assert told(spark.read.parquet(str(path))) == expected


@pytest.mark.slow
@pytest.mark.spark
def test_and_a_curator_releases_the_same_from_it(spark: Any, tmp_path: Path) -> None:
    """Here, so that one PySpark is started for both."""
    tables.table().write_parquet(tmp_path / "people.parquet")
    frame = spark.read.parquet(str(tmp_path / "people.parquet"))
    assert tables.released(frame) == tables.released(tables.table().to_pandas())


@pytest.mark.slow
@pytest.mark.spark
def test_and_every_verb_has_the_integers_of_a_table_in_memory_in_it(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row comes here; it has no unsigned numbers."""
    table = contract.people().drop("large").with_columns(pl.col("kind").cast(pl.String))
    table.write_parquet(tmp_path / "people.parquet")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    monkeypatch.setattr(SparkTable, "batches", None)
    caps = Caps(5, 3, 2), "name"
    reads = contract.Reads(spark.read.parquet(str(tmp_path / "people.parquet")), *caps)
    found = contract.integers(reads, unsigned=False, few=True)
    expected = contract.integers(contract.Reads(table, *caps), unsigned=False, few=True)
    assert {name: one for name, one in found.items() if one != expected[name]} == {}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("made", "secret"), [("SQL", "secret Bob"), ("DataFrame", "secret Ann")])
def test_and_nothing_of_a_value_that_it_cannot_read_is_told_or_written(
    made: str,
    secret: str,
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """Neither by Java nor by PySpark's own loggers, one for each way to make a column; they write it where the toolkit
    does not ask.
    """
    from pyspark.logger import PySparkLogger
    from pyspark.sql.functions import col

    heard = logging.StreamHandler(logged := io.StringIO())
    for name in ("SQL", "DataFrame"):
        logger = PySparkLogger.getLogger(f"{name}QueryContextLogger")
        logger.addHandler(heard)
        request.addfinalizer(partial(logger.removeHandler, heard))
    files = list(tmp_path_factory.getbasetemp().glob("spark*/stderr"))
    path = str(tmp_path_factory.mktemp("broken") / "people.parquet")
    pl.DataFrame({"x": ["1", secret]}).write_parquet(path)
    table = spark.read.parquet(path)
    broken = table.selectExpr("CAST(x AS DOUBLE) AS x") if made == "SQL" else table.select(col("x").cast("double"))
    keeper = Curator(broken, Ledger(Pure(10)), "add_remove")
    for call in (
        lambda: keeper.mean("x", bounds=(0, 9), missing="drop", epsilon=1),
        lambda: keeper.median("x", bounds=(0, 9), epsilon=1),
        lambda: keeper.location("x", estimator=Huber(5), bounds=(0, 9), step=1, epsilon=1),
    ):
        with pytest.raises(RuntimeError, match="an error that is not shown") as error:
            call()
        assert (error.value.__context__, error.value.__cause__) == (None, None)
    written = "".join(capfd.readouterr()) + "".join(file.read_text() for file in files)
    assert secret not in written
    assert logged.getvalue() == ""
    with pytest.raises(Exception, match=secret):
        broken.collect()
    assert secret in logged.getvalue()
    written = "".join(capfd.readouterr()) + "".join(file.read_text() for file in files)
    assert secret in written
    assert " INFO " not in written, "afterwards a script hears warnings only, as before"


@pytest.mark.slow
@pytest.mark.spark
def test_and_a_small_table_of_it_is_not_computed_before_it_is_paid_for(spark: Any) -> None:
    """Spark computes a table that it holds itself while it plans, for no row as for all of them."""
    query = "SELECT CAST(x AS DOUBLE) AS x, x AS y, current_timestamp() AS z FROM VALUES ('1'), ('{}') AS t (x)"
    whole, broken = spark.sql(query.format("2")), spark.sql(query.format("Bob"))
    assert SparkTable(broken).empty().schema == SparkTable(whole).collect().schema
    keeper = Curator(broken, Ledger(Pure(1)), "add_remove")
    with pytest.raises(RuntimeError, match="an error that is not shown: the charge remains"):
        keeper.mean("x", bounds=(0, 9), missing="drop", epsilon=1)
    assert keeper.ledger.spent == Pure(1)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("verb", "name"), [("mean", "by"), ("keys", "all")])
def test_and_one_person_with_500_rows_of_it_moves_no_more_than_is_charged(
    verb: str, name: str, spark: Any, tmp_path: Path
) -> None:
    """Noise on sums, and a threshold; the integers of every verb are compared above, under the same kind of caps."""

    def written(table: pd.DataFrame) -> Any:
        file = str(tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet")
        table.to_parquet(file)
        return spark.read.parquet(file)

    call, people = test_movement.CALLS[verb][name], ("high in two", "low in others")
    caps = test_movement.CAPS["five rows"]
    found = test_movement.moved(call, "epsilon", "replace", written, caps, people)
    assert 0.2 < found <= 1


def test_questions_with_few_reports_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five yes/no questions make at most 243 combinations, and one count; a sixth has a count of its own."""
    asked = []

    def watched(frame: Any, names: list[str]) -> Any:
        asked.append(names)
        return row_counts(frame, names)

    row_counts = counted.row_counts
    monkeypatch.setattr(counted, "row_counts", watched)
    estimates(FRAME, DESIGNS, by="sex")
    assert [len(names) for names in asked] == [6, 2]
    assert all(names[0] == "sex" for names in asked)


@pytest.mark.slow
@pytest.mark.spark
def test_and_people_with_numbers_of_19_digits_are_told_apart_in_it(spark: Any) -> None:
    rows = "(1000000000000000000), (1000000000000000001), (1000000000000000000)"
    for kind in ("DECIMAL(38, 0)", "DECIMAL(20, 1)", "BIGINT", "STRING"):
        frame = Frame(spark.sql(f"SELECT CAST(id AS {kind}) AS id FROM VALUES {rows} AS ids(id)"))  # noqa: S608
        (part,) = frame.batches(["id"], in_one_batch=True)
        person, _ = Persons.of(frame, "id", Caps(1)).person_codes_and_tags(part)
        assert person[0] == person[2] != person[1]
