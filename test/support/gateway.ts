import assert from 'node:assert/strict';
import type { Payment } from '../../src/domain/records.ts';
import { type Refusal, refused } from './refusal.ts';
import { type TestService, call } from './service.ts';

/** Helpers for requests to the gateway API of a service. Paths are below `/api/gateway/`. */
export interface Gateway {
  url(path: string): string;
  /** Sends a request and returns the body of its response; a status other than 200 fails the test. */
  get<Body>(path: string): Promise<Body>;
  post<Body>(path: string, body?: unknown): Promise<Body>;
  put<Body>(path: string, body?: unknown): Promise<Body>;
  patch<Body>(path: string, body?: unknown): Promise<Body>;
  delete<Body>(path: string): Promise<Body>;
  list<Item>(path: string): Promise<Item[]>;
  /** The ids of the records on a page of a list. */
  ids(path: string): Promise<string[]>;
  /** Sends a request such as `POST sessions`, which must fail with `expected`, such as `409 invalid_state`; returns the error. */
  refused(expected: string, request: string, body?: unknown): Promise<Refusal['error']>;
}

export function gatewayOf(on: { url: string }, headers: Record<string, string> = {}): Gateway {
  const url = (path: string) => `${on.url}/api/gateway/${path}`;
  const send =
    (method: string) =>
    async <Body>(path: string, sent?: unknown) => {
      const { status, body } = await call<Body>(method, url(path), sent, headers);
      assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(body)}`);
      return body;
    };
  const get = send('GET');
  const list = async <Item>(path: string) => (await get<{ data: Item[] }>(path)).data;
  return {
    url,
    get,
    post: send('POST'),
    put: send('PUT'),
    patch: send('PATCH'),
    delete: send('DELETE'),
    list,
    ids: async (path) => (await list<{ id: string }>(path)).map(({ id }) => id),
    refused(expected, request, body) {
      const [status, code] = expected.split(' ') as [string, string];
      const [method, path] = request.split(' ') as [string, string];
      return refused([Number(status), code], method, url(path), body, headers);
    },
  };
}

/** The values of some properties of each item. */
export function pick<Item, Name extends keyof Item>(items: readonly Item[], ...names: Name[]): Item[Name][][] {
  return items.map((item) => names.map((name) => item[name]));
}

/** The payments of a session, oldest first. */
export async function paymentsOf(
  { service }: Pick<TestService, 'service'>,
  sessionId: string,
): Promise<readonly Payment[]> {
  return (await service.deps.store.checkout(sessionId))!.payments;
}

/** Balance of each account for one payment, in cents; an account with a balance of 0 is absent. */
export async function booksOf(
  { service }: Pick<TestService, 'service'>,
  paymentId: string,
): Promise<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const { account, amount } of await service.deps.store.ledgerOfPayment(paymentId))
    sums.set(account, (sums.get(account) ?? 0) + amount);
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0));
}
