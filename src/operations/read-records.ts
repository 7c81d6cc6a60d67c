import assert from 'node:assert/strict';
import { GatewayError } from '../domain/gateway-error.ts';
import { leadingPayment } from '../domain/checkout-state.ts';
import type { Delivery, DeliveryAttempt } from '../domain/delivery.ts';
import { isId } from '../domain/id.ts';
import type { Customer, Invoice, Payment, Session } from '../domain/records.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';
import type { Deps } from './deps.ts';
import { eventNotFound, found, foundSession } from './not-found.ts';
import type { Refund } from '../domain/refund-record.ts';
import type { RefundFilter } from '../store/tables/refunds-table.ts';
import type { PageResult, Page } from '../store/list-page.ts';

type Reading = Pick<Deps, 'store'>;

/** Reads a customer by id. Throws GatewayError `not_found`. */
export async function getCustomer({ store }: Reading, id: string): Promise<Customer> {
  return found(await store.customer(id), 'customer', id, 'cus_');
}

export async function getSession({ store }: Reading, id: string): Promise<Session> {
  return foundSession(await store.session(id), id);
}

export async function getInvoice({ store }: Reading, id: string): Promise<Invoice> {
  return found(await store.invoice(id), 'invoice', id, 'inv_');
}

/** A payment by its own id or by the id of its session: the payment that paid the session, else the newest attempt. */
export async function getPayment({ store }: Reading, id: string): Promise<Payment> {
  if (!isId(id, 'chk')) return found(await store.payment(id), 'payment', id, 'pay_ or chk_');
  const checkout = foundSession(await store.checkout(id), id);
  const payment = leadingPayment(checkout);
  if (payment) return payment;
  if (checkout.session.status === 'expired') {
    throw new GatewayError('not_found', `Session ${id} has no payment and never will: it has expired.`, {
      suggestion: 'Create another session, and give the buyer its checkoutUrl.',
    });
  }
  throw new GatewayError('not_found', `Session ${id} has no payment yet: the buyer has not started to pay.`, {
    suggestion: 'Ask again after the buyer has opened checkoutUrl and started to pay.',
  });
}

export async function getEvent({ store }: Reading, id: string): Promise<MerchantEvent> {
  const event = await store.event(id);
  if (!event) throw eventNotFound(id);
  return event;
}

export interface DeliveryDetails {
  delivery: Delivery;
  event: MerchantEvent;
  log: DeliveryAttempt[];
}

export async function getDelivery({ store }: Reading, id: string): Promise<DeliveryDetails> {
  const delivery = found(await store.delivery(id), 'delivery', id, 'dlv_');
  const event = await store.event(delivery.eventId);
  assert(event, `delivery ${id} has no event`);
  // The log is read last, so that the log of a finished delivery is complete.
  return { delivery, event, log: await store.deliveryAttempts(id) };
}

/** Reads a refund by id. Throws GatewayError `not_found`. */
export async function getRefund({ store }: Reading, id: string): Promise<Refund> {
  return found(await store.refund(id), 'refund', id, 'ref_');
}

/** Refunds of one payment, by an id that `getPayment` accepts. Throws GatewayError `not_found`. */
export async function listRefundsOfPayment(
  deps: Reading,
  id: string,
  filter: Pick<RefundFilter, 'status'>,
  page: Page,
): Promise<PageResult<Refund>> {
  const { id: paymentId } = await getPayment(deps, id);
  return deps.store.listRefunds({ ...filter, paymentId }, page);
}
