const SSL_MODES = ['verify-full', 'no-verify', 'disable'];

/** Error message for an invalid database URL, without any part of its password. */
export function faultOfDatabaseUrl(value: string): string | undefined {
  if (/^sqlite:(?:.*:memory:|file:)/.test(value)) {
    return 'must name a file by its path, for example sqlite:./data/tillway.db: a database in memory ends with the process';
  }
  if (/^sqlite:.+/.test(value)) return undefined;
  if (!/^postgres(?:ql)?:\/\//.test(value)) {
    return 'must be sqlite:<path>, for example sqlite:./data/tillway.db, or postgres://<user>:<password>@<host>:<port>/<database>';
  }
  if (/^[^?]*,/.test(value)) return 'must name one host: the address of the primary, wherever that moves';
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || url.hostname === '' || !/^\/[^/@]+$/.test(url.pathname) || url.hash !== '') {
    return 'must be postgres://<user>:<password>@<host>:<port>/<database>; characters such as @ / # : of the password are percent-encoded';
  }
  const mode = url.searchParams.get('sslmode');
  if (mode === null || SSL_MODES.includes(mode)) return undefined;
  return `must have sslmode ${SSL_MODES.join(', ')}: verify-full takes sslrootcert=<file> for an authority of your own, no-verify checks no certificate`;
}
