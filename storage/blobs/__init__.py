"""What people sent, kept by the hash of its content: each content once, whoever sent it and on
however many branches it is shown. Beside a SQLite file it stands in a folder, so that the file
stays small; with PostgreSQL it stands in the database, because other hosts must find it. Imports
point to storage.errors and the store's seam only."""
