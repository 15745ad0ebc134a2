"""Servers for tests and for trying things out, on this machine alone: Apache Kafka and PostgreSQL from packages."""

from __future__ import annotations

from local_services.kafka import KafkaServer, start_kafka
from local_services.postgres import PostgresServer, start_postgres
from local_services.processes import ServicesError

__all__ = ["KafkaServer", "PostgresServer", "ServicesError", "start_kafka", "start_postgres"]
