import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { destinationOf, returnUrl } from '../../src/checkout/return-url.ts';
import { SESSION_STATUSES } from '../../src/domain/records.ts';

const ID = 'chk_01m4abc';

test('returnUrl adds session id and status to the query and leaves all other bytes unchanged', () => {
  const examples: [string, string][] = [
    ['https://shop.example', 'https://shop.example?session_id=chk_01m4abc&status=paid'],
    ['https://shop.example/a?', 'https://shop.example/a?session_id=chk_01m4abc&status=paid'],
    ['https://shop.example/a#/x?y=1', 'https://shop.example/a?session_id=chk_01m4abc&status=paid#/x?y=1'],
    ['https://shop.example/?q=%20+%C3%A9#f', 'https://shop.example/?q=%20+%C3%A9&session_id=chk_01m4abc&status=paid#f'],
    ['shop://cart', 'shop://cart?session_id=chk_01m4abc&status=paid'],
    ['shop:cart?a=1', 'shop:cart?a=1&session_id=chk_01m4abc&status=paid'],
  ];
  for (const [merchantUrl, expected] of examples) assert.equal(returnUrl(merchantUrl, ID, 'paid'), expected);
});

test('returnUrl removes the merchant’s own parameters named session_id and status', () => {
  const merchantUrl = 'https://shop.example/?status=paid&a=1&session%5Fid=x&session_id={ID}&sta%74us=paid';
  assert.equal(returnUrl(merchantUrl, ID, 'failed'), `https://shop.example/?a=1&session_id=${ID}&status=failed`);
});

const pair = fc.tuple(fc.string({ minLength: 1 }), fc.string());
const address = fc.record({
  base: fc.constantFrom(
    'https://shop.example',
    'http://127.0.0.1:8080/a//b%20c/',
    'shop://cart',
    'com.example.app:/back',
  ),
  query: fc.option(fc.array(pair)),
  fragment: fc.option(fc.string().map(encodeURI)),
});

test('returnUrl adds one session_id and one status to a random URL, and keeps the order and encoding of everything else', () => {
  fc.assert(
    fc.property(address, fc.constantFrom(...SESSION_STATUSES), ({ base, query, fragment }, status) => {
      const pairs = (query ?? []).filter(([name]) => name !== 'session_id' && name !== 'status');
      const search = query === null ? '' : `?${new URLSearchParams(pairs).toString()}`;
      const hash = fragment === null ? '' : `#${fragment}`;
      const result = returnUrl(`${base}${search}${hash}`, ID, status);

      const addedParameters = `session_id=${ID}&status=${status}`;
      const joined = pairs.length === 0 ? `?${addedParameters}` : `${search}&${addedParameters}`;
      assert.equal(result, `${base}${joined}${hash}`);
      const url = new URL(result);
      assert.deepEqual([...url.searchParams], [...pairs, ['session_id', ID], ['status', status]]);
    }),
  );
});

test('destinationOf names the host or the app of a URL', () => {
  assert.equal(destinationOf('https://shop.example:8443/thanks?x=1'), 'shop.example:8443');
  assert.equal(destinationOf('http://localhost/'), 'localhost');
  assert.equal(destinationOf('shop://cart'), 'the shop app');
});
