from tests.survey.postgres_server import bouncer, postgres

__all__ = ["bouncer", "postgres"]
