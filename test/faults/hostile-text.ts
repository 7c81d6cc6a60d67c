/** Names and values of headers that no valid request in these tests has. */
export const HOSTILE_HEADERS = [
  'expect: 100-continue',
  'expect: a miracle',
  'upgrade: websocket',
  'connection: upgrade',
  'connection: close',
  'content-encoding: gzip',
  'accept: */*;q=x',
  'accept: application/xml',
  'accept-encoding: x',
  'origin: https://evil.example',
  'origin: null',
  'sec-fetch-site: cross-site',
  'if-none-match: *',
  'range: bytes=0-1',
  'authorization: Basic eDp5',
  `authorization: Bearer sk_sandbox_${'0'.repeat(43)}`,
  'x-forwarded-host: evil.example',
  "x-forwarded-for: ' OR 1=1",
  'x-request-id: \x80\xff',
  'cookie: __proto__=1; a=%',
  '__proto__: x',
  `x-long: ${'y'.repeat(20_000)}`,
].map((line): [name: string, value: string] => {
  const [name = '', value = ''] = line.split(': ', 2);
  return [name, value];
});

export const HOSTILE_HOSTS = ['evil.example', '', '127.0.0.1:x', '[::1]', '\xff', 'a'.repeat(300)];

export const HOSTILE_CONTENT_TYPES = [
  'text/plain',
  'text/csv',
  'APPLICATION/JSON',
  'application/json; charset=utf-16',
  'application/ld+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/',
  ';;;=',
];
