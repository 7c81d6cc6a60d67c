import { type Reader, isObject, readPage, resultOf } from './answers.ts';
import { type FetchPage, TillwayList } from './list.ts';
import { TillwayPromise } from './promise.ts';
import type { Call, QueryValue, Transport } from './transport.ts';
import type { Page } from './types.ts';

/** Sends a call at once. */
export function callFor<Data>(transport: Transport, call: Call<Data>): TillwayPromise<Data> {
  const answered = transport.send(call);
  return new TillwayPromise(() => answered);
}

/** Sends a call with the parameters of a method as its body. It rejects with TypeError where they were not given. */
export function callWith<Data>(transport: Transport, call: Call<Data>): TillwayPromise<Data> {
  if (isObject(call.body)) return callFor(transport, call);
  const problem = `${call.method} ${call.path}: its parameters must be an object, not ${kindOf(call.body)}`;
  return new TillwayPromise(() => Promise.reject(new TypeError(problem)));
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

/** A read, which can be sent again without harm. */
export function get<Data>(transport: Transport, call: Omit<Call<Data>, 'method' | 'repeatable'>): TillwayPromise<Data> {
  return callFor(transport, { ...call, method: 'GET', repeatable: true });
}

/** A list that fetches its pages as they are read. */
export function listFor<Item extends { id: string }>(
  transport: Transport,
  call: Pick<Call<Page<Item>>, 'path' | 'params' | 'options'> & { read?: Reader<Page<Item>> },
  params: object = {},
): TillwayList<Item> {
  const fetchPage: FetchPage<Item> = (position) =>
    transport.send({
      read: readPage<Item>,
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
  return callWith<Result>(transport, {
    ...call,
    method: 'POST',
    path: `/api/agent/actions/${action}`,
    read: resultOf(action),
  });
}
