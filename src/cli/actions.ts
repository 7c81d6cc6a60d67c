import { type FeeSplit, type Route, type Tillway, TillwayError } from '../../sdk/src/index.ts';
import type { Paint } from './command-context.ts';
import { dollars, plain, rate } from './cells.ts';

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

const AMOUNT_WIDTH = 16;

/** The fee split, a line for each part, with aligned amounts. */
export function tellFees(fees: FeeSplit, route: Route, paint: Paint): string {
  const lines: [name: string, amount: number, rate?: number][] = [
    ['Buyer pays', fees.total],
    ...(fees.buyerFee > 0 ? [['  buyer fee', fees.buyerFee, route.buyerFeeRate] as [string, number, number]] : []),
    ['Gateway keeps', fees.gatewayFee, route.gatewayFeeRate],
    ['You get', fees.merchantNet],
  ];
  const told = lines.map(([name, amount, share]) => {
    const text = dollars(amount).padStart(AMOUNT_WIDTH);
    const value = name === 'You get' ? paint('bold', text) : text;
    return `${paint('dim', name.padEnd(14))}${value}${share === undefined ? '' : paint('dim', `  ${rate(share)}`)}\n`;
  });
  return told.join('');
}

/** `Card, simulated acquirer  sandbox_card_acquirer`. */
export function routeWords(route: Route, paint: Paint): string {
  return `${plain(route.label)}  ${paint('dim', `${plain(route.id)}, ${plain(route.eta)}`)}`;
}
