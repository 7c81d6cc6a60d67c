import { type Payment, Tillway } from '../sdk/src/index.ts';
import type { RouteKind } from '../src/domain/route.ts';
import type { Service } from '../src/service.ts';
import { dollars, holdsWithin, say } from './temporary-service.ts';

const PATIENCE_MS = 10_000;
/** Time in which ledger and provider must agree; short if they cannot agree. */
const AGREEMENT_MS = process.env['WRONG_CENT'] ? 1000 : PATIENCE_MS;

/** A payment that a buyer has started, and its page at the provider. */
export interface Purchase {
  sessionId: string;
  paymentId: string;
  /** The provider's id of the payment. */
  reference: string;
  page: string;
}

/** The scripted provider that a demo uses. */
interface DemoProvider {
  name: string;
  /** Balance in cents. */
  balance(): number;
  /** True if the balance is the merchant's, so that a paid payment is settled at once. */
  isMerchants?: boolean;
}

/** Actions of a merchant and a buyer, and the comparison of the ledger with the balance at the provider. */
export function createDemo(service: Service, { name, balance, isMerchants = false }: DemoProvider) {
  const tillway = new Tillway({ baseUrl: service.url });

  async function holds(what: string, condition: () => Promise<boolean>): Promise<void> {
    if (!(await holdsWithin(PATIENCE_MS, condition))) throw new Error(`${what}: not reached in time`);
  }

  /** Money that has left `provider_clearing` for the merchant, who still has it at the provider. */
  async function settledCents(): Promise<number> {
    let sum = 0;
    for await (const { id } of tillway.payments.list({ status: 'paid' })) {
      sum += (await service.deps.store.settlement(id))?.amount ?? 0;
    }
    return sum;
  }

  /** The accounts of the ledger; amounts in cents. */
  async function books() {
    const [sandbox] = (await tillway.ledger.balances({ environment: 'sandbox' })).environments;
    const cents = (amount: number): number => Math.round(amount * 100);
    const used = sandbox!.accounts.filter(({ debits, credits }) => debits + credits > 0);
    const settled = isMerchants ? await settledCents() : 0;
    const clearing = cents(used.find(({ account }) => account === 'provider_clearing')?.balance ?? 0);
    return {
      accounts: used.map((each) => `${each.account} ${each.balance.toFixed(2)}`),
      settled,
      held: clearing + settled,
      sum: cents(sandbox!.total),
    };
  }

  return {
    tillway,
    holds,

    /** A merchant creates a session, and the buyer chooses a payment method on its page, which leads to the provider. */
    async buy(kind: RouteKind, amount: number): Promise<Purchase> {
      const { id } = await tillway.sessions.create({ product: 'Field guide', amount, customer: 'buyer@example.com' });
      const form = new URLSearchParams({ kind, [`total_${kind}`]: String(Math.round(amount * 100)) });
      await fetch(`${service.url}/checkout/${id}/pay`, { method: 'POST', body: form, redirect: 'manual' });
      const { data } = await tillway.payments.list({ paymentId: id });
      const payment = (await service.deps.store.payment(data[0]!.id))!;
      const { id: paymentId, providerReference: reference, providerUrl: page } = payment;
      return { sessionId: id, paymentId, reference: reference!, page: page! };
    },

    /** The buyer presses a button of the provider's page, and follows the redirect to the checkout. */
    async act({ page }: Purchase, act: 'pay' | 'debit' | 'decline' | 'approve'): Promise<void> {
      await fetch(page, { method: 'POST', body: new URLSearchParams({ act }) });
    },

    async reached({ paymentId }: Purchase, status: Payment['status']): Promise<Payment> {
      await holds(`status ${status}`, async () => (await tillway.payments.get(paymentId)).status === status);
      return tillway.payments.get(paymentId);
    },

    shown({ sessionId }: Purchase, text: string): Promise<void> {
      const page = async () => (await fetch(`${service.url}/checkout/${sessionId}`)).text();
      return holds(`"${text}" on the page`, async () => (await page()).includes(text));
    },

    /** Waits until ledger and provider agree, and prints `what` with both balances. Throws if they do not agree in time. */
    async report(what: string): Promise<void> {
      const agree = await holdsWithin(AGREEMENT_MS, async () => {
        const { held, sum } = await books();
        return sum === 0 && held === balance();
      });
      const { accounts, settled, sum } = await books();
      say(`${what}\n  ledger   ${accounts.join('  ')}  sum ${dollars(sum)}`);
      if (isMerchants) say(`  settled  ${dollars(settled)}`);
      say(`  ${name.padEnd(8)} balance ${dollars(balance())}\n`);
      if (!agree) throw new Error(`${name} and the ledger differ`);
    },
  };
}
