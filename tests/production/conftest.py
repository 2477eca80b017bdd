from tests.survey.postgres_server import postgres

__all__ = ["postgres"]
