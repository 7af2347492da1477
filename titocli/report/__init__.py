"""What users see: results, errors, tables and the JSON envelope."""
