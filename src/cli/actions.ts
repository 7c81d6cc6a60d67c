import { type Tillway, TillwayError } from '../../sdk/src/index.ts';

/** The whole answer of an action. */
export interface Acted<Result> {
  ok: true;
  action: string;
  result: Result;
}

/** Throws TillwayError `unexpected_response` if the answer is not that of Tillway. */
export async function act<Result>(client: Tillway, action: string, body: unknown): Promise<Acted<Result>> {
  const path = `/api/agent/actions/${action}`;
  const answer = await client.request<Partial<Acted<Result>> | null>({ method: 'POST', path, body });
  if (answer?.ok === true && typeof answer.result === 'object' && answer.result !== null) {
    return answer as Acted<Result>;
  }
  throw new TillwayError('unexpected_response', `POST ${path} was not answered as Tillway does.`);
}
