import type { Cents } from '../domain/money.ts';
import { ROUTE_KINDS, type RouteKind } from '../domain/route.ts';

/** The chosen method, and the total that the page showed for it. */
export interface PayForm {
  kind: RouteKind;
  acceptedTotal: Cents;
}

const WHOLE_CENTS = /^[0-9]{1,12}$/;

/** Undefined for a form that our own page does not send. */
export function readPayForm(form: URLSearchParams): PayForm | undefined {
  const kind = ROUTE_KINDS.find((known) => known === form.get('kind'));
  const total = kind && form.get(`total_${kind}`);
  if (!kind || !total || !WHOLE_CENTS.test(total)) return undefined;
  return { kind, acceptedTotal: Number(total) };
}
