import type { Instant } from '../domain/records.ts';
import type { HandoffRequest, Provider } from '../providers/provider.ts';
import type { Deps } from './deps.ts';

/** As {@link HandoffResult}; `mayArrive` says that a request may still be on its way to a provider without the payment. */
export type Handoff =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null; mayArrive: boolean }
  | { outcome: 'ambiguous'; reason: string };

/**
 * Hands a payment to its provider. An answer that leaves open whether the provider has it is cleared up there: the same
 * request once more, which takes the payment over once, and then the question what became of it. A refusal of the second
 * request says nothing of the first; only "no such payment" does.
 */
export async function handOff(
  deps: Pick<Deps, 'realNow' | 'handoffLimits'>,
  provider: Provider | undefined,
  request: Omit<HandoffRequest, 'timeoutMs'>,
  giveUpAt: Instant,
): Promise<Handoff> {
  if (!provider) {
    return { outcome: 'refused', reason: 'its provider is not connected', providerReason: null, mayArrive: false };
  }
  const { handoffMs, againMs, inquiryMs } = deps.handoffLimits;
  const within = (limitMs: number) => Math.max(1, Math.min(limitMs, giveUpAt - deps.realNow()));

  const first = await provider.handoff({ ...request, timeoutMs: within(handoffMs) });
  if (first.outcome === 'refused') return { ...first, mayArrive: false };
  if (first.outcome === 'accepted') return first;

  const second = await provider.handoff({ ...request, timeoutMs: within(againMs) });
  if (second.outcome === 'accepted') return second;
  try {
    const known = await provider.inquire(request.payment, within(inquiryMs));
    if (known && known.status !== 'failed') {
      return { outcome: 'accepted', reference: known.reference, url: known.url };
    }
    const found = known ? 'it has failed there' : 'it is not known there';
    const providerReason = known?.failure?.reason ?? null;
    return { outcome: 'refused', reason: `${first.reason}, and ${found}`, providerReason, mayArrive: true };
  } catch (error) {
    return { outcome: 'ambiguous', reason: `${first.reason}; asked about it: ${String(error)}` };
  }
}
