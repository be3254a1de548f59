"""The site: what MkDocs needs beside the pages of ``docs``."""
