"""Fits as models of the package marginaleffects, which computes predictions, comparisons and slopes of any model.

The package differentiates predictions with respect to the coefficients; the fit supplies predictions at any
coefficients.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from toolkit.analysis.regression.covariates import Covariates
from toolkit.analysis.regression.margins import Effect
from toolkit.analysis.regression.rows import People
from toolkit.core.arrays import Array
from toolkit.core.extras import extra

ROW_WEIGHT = "row_weight"


def as_effects_model(
    fit: Any, covariates: Covariates, people: People, predictions: Callable[[Array, Array], Sequence[Effect]]
) -> Any:
    """Return the fit as a model of marginaleffects.

    `predictions` computes the prediction of each option from coefficients and a matrix of covariates.
    """
    classes, polars = extra("marginaleffects.classes"), extra("polars")

    class EffectsModel(classes.ModelAbstract):  # type: ignore[misc, name-defined]
        def get_exog(self, newdata: Any) -> Array:
            new = newdata.select(covariates.variables)
            return covariates.matrix_of(new.to_numpy() if isinstance(covariates.data, np.ndarray) else new)

        def get_vcov(self, vcov: object = True) -> Array | None:
            return fit.cov if vcov else None

        def get_predict(self, params: Array, newdata: Any) -> Any:
            frames = [
                {"rowid": np.arange(len(effect.value), dtype=np.int32), "group": effect.label, "estimate": effect.value}
                for effect in predictions(np.asarray(params), np.asarray(newdata))
            ]
            return polars.concat([polars.DataFrame(frame) for frame in frames])

    vault = classes.ModelVault(
        coef=fit.value,
        coefnames=np.array(fit.labels),
        # A function stands for the formula, because the covariates are made by the fit and not by marginaleffects.
        formula=lambda newdata: (None, newdata),
        modeldata=_model_data(covariates, people, polars),
        package="privacy-survey-toolkit",
        variable_names=["report", *covariates.variables],
    )
    model = EffectsModel(fit, vault)
    if people.is_complex:
        model.df_resid = people.df
    return model


def _model_data(covariates: Covariates, people: People, polars: Any) -> Any:
    """Return the variables of the formula as a polars frame, with text as categories, and the weights of the rows."""
    columns = {}
    for variable in covariates.variables:
        values = covariates.values(variable)
        series = polars.Series(variable, values.tolist() if values.dtype.kind in "OUT" else values)
        if series.dtype == polars.String:
            categories = covariates.declared_categories(variable) or sorted(series.unique().to_list())
            series = series.cast(polars.Enum(categories))
        columns[variable] = series
    return polars.DataFrame({**columns, ROW_WEIGHT: people.row_weights})
