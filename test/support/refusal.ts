import assert from 'node:assert/strict';
import { type Answer, call } from './service.ts';

/** Body of an error response. A response without a field, suggestion or issues lacks them at run time. */
export interface Refusal {
  ok: false;
  error: {
    code: string;
    message: string;
    field: string;
    suggestion: string;
    issues: { path: string; code: string; message: string }[];
  };
}

/** Sends a request that the API must refuse with this status and code; returns the response. */
export async function refusal(
  expected: [status: number, code: string],
  ...request: Parameters<typeof call>
): Promise<Answer<Refusal>> {
  const answer = await call<Refusal>(...request);
  const { status, body } = answer;
  assert.deepEqual([status, body.ok, body.error?.code], [expected[0], false, expected[1]], JSON.stringify(body));
  return answer;
}

/** Sends a request that the API must refuse with this status and code; returns the error. */
export async function refused(...request: Parameters<typeof refusal>): Promise<Refusal['error']> {
  return (await refusal(...request)).body.error;
}
