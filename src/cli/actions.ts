import { type Tillway, TillwayError } from '../../sdk/src/index.ts';

/** Response of an action that succeeded. */
export interface Acted<Result> {
  ok: true;
  action: string;
  result: Result;
}

/** Runs an action of the agent API. Throws TillwayError `unexpected_response` if the response does not have Tillway's format. */
export async function act<Result>(client: Tillway, action: string, body: unknown): Promise<Acted<Result>> {
  const path = `/api/agent/actions/${action}`;
  const answer = await client.request<Partial<Acted<Result>> | null>({ method: 'POST', path, body });
  if (answer?.ok === true && typeof answer.result === 'object' && answer.result !== null) {
    return answer as Acted<Result>;
  }
  throw new TillwayError('unexpected_response', `POST ${path} did not return a Tillway response.`);
}
