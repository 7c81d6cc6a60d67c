import { type FetchPage, TillwayList } from './list.ts';
import { TillwayPromise } from './promise.ts';
import type { Call, QueryValue, Transport } from './transport.ts';
import type { Page } from './types.ts';

/** Sends a call at once. */
export function callFor<Data>(transport: Transport, call: Call<Data>): TillwayPromise<Data> {
  const answered = transport.send(call);
  return new TillwayPromise(() => answered);
}

/** A read, which can be sent again without harm. */
export function get<Data>(transport: Transport, call: Omit<Call<Data>, 'method' | 'repeatable'>): TillwayPromise<Data> {
  return callFor(transport, { ...call, method: 'GET', repeatable: true });
}

/** A list that fetches its pages as they are read. */
export function listFor<Item extends { id: string }>(
  transport: Transport,
  call: Pick<Call<Page<Item>>, 'path' | 'options' | 'read'>,
  params: object = {},
): TillwayList<Item> {
  const fetchPage: FetchPage<Item> = (position) =>
    transport.send({
      ...call,
      method: 'GET',
      query: { ...(params as Record<string, QueryValue>), ...position },
      repeatable: true,
    });
  return new TillwayList(fetchPage, params);
}

/** Runs one of the typed actions. */
export function act<Result>(
  transport: Transport,
  action: string,
  call: Pick<Call<Result>, 'body' | 'repeatable' | 'options'>,
): TillwayPromise<Result> {
  return callFor<Result>(transport, {
    ...call,
    method: 'POST',
    path: `/api/agent/actions/${action}`,
    read: (answer) => resultOf(answer) as Result,
  });
}

function resultOf(answer: unknown): unknown {
  const { ok, result } = answer as { ok?: unknown; result?: unknown };
  if (ok !== true || result === undefined) throw new TypeError('the answer holds no result');
  return result;
}
