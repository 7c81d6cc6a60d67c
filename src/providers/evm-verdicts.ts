import { NO_DETAILS, type ProviderAmount, type ProviderReport, amountInCents } from '../domain/provider-report.ts';
import type { Instant } from '../domain/records.ts';
import type { Chain } from './evm-chains.ts';
import type { ChainAddress, ChainCursor, ChainTransfer, WatchedAddress } from './evm-store.ts';
import type { WatchedSignal } from './provider.ts';

/** Millionths of a USDC in a cent. */
export const UNITS_PER_CENT = 10_000;
const MINUTE_MS = 60_000;
/** Time that a buyer has to complete a partial payment, from its last transfer. */
const COMPLETION_MINUTES = 30;

/** Age of the last complete poll after which stored rows may lack transfers that the chain has. */
const BEHIND_AFTER_MS = MINUTE_MS;
/** Time without a complete poll after which the routes of the instance go to standby. */
const OFF_AFTER_MS = 3 * MINUTE_MS;
/** Number of consecutive polls with contradicting nodes after which the routes go to standby. */
const OFF_AFTER_DISAGREEMENTS = 3;

/** When the money of an instance counts as paid. */
export interface ConfirmRules {
  /** Payments of at most this amount are paid after `blocks` blocks; larger ones when the transfer is final. 0: all of them. */
  fastUpToUnits: number;
  blocks: number;
  /** A payment that is short by at most this amount is accepted. */
  toleranceUnits: number;
}

/** Sums of the stored transfers to an address, by their state. */
export interface Sums {
  final: number;
  /** Transfers that the quorum has confirmed before finality. */
  fast: number;
  /** Further transfers, which one node has seen. */
  seen: number;
}

export function sumsOf(transfers: readonly ChainTransfer[]): Sums {
  const sum = (state: ChainTransfer['state']) =>
    transfers.reduce((total, transfer) => total + (transfer.state === state ? transfer.units : 0), 0);
  return { final: sum('final'), fast: sum('fast'), seen: sum('seen') };
}

/** The next report about an address, if any, and the row of the address after it. */
export interface Verdict {
  signal?: WatchedSignal;
  after: ChainAddress;
}

/** The instance, and what is known about the chain. */
interface Position {
  chain: Chain;
  confirm: ConfirmRules;
  finalBlock: number;
  /** True if the stored transfers are those of the last poll, also those that are not final. */
  isCurrent: boolean;
}

/**
 * The next report that the stored rows of an address require; undefined if every report was made. The caller applies the report,
 * stores the row and asks again. An event id depends only on what it reports, so a report is applied once, even if the process
 * ends before it stores the row. A report about money is decided and stored (`unsent`) before it is made: the transfers can change
 * in between, and then the next verdict corrects the report.
 */
export function nextVerdict(
  { row, transfers }: WatchedAddress,
  { chain, confirm, finalBlock, isCurrent }: Position,
  now: Instant,
): Verdict | undefined {
  const { dueUnits: due, reportedUnits: reported, reversedUnits: reversed } = row;
  const { final, fast, seen } = sumsOf(transfers);
  const eventId = (what: string | number) => `chain_${chain.chainId}_${row.address}_${what}`;

  if (row.unsent === 'paid') return { signal: paid(), after: { ...row, unsent: null } };
  if (row.unsent === 'reversal') {
    const signal = { ...reversalOf(row), eventId: eventId(`reversal_${row.reversalRevision}`) };
    return { signal, after: { ...row, unsent: null } };
  }
  // A fast confirmation was undone: its block is final, and the transfer is neither final nor waiting in a later block.
  const isUndone = isCurrent && reported - reversed > final + fast + seen && (row.fastBlock ?? 0) <= finalBlock;
  const isReturned = reversed > 0 && reported - reversed < final;
  if (isUndone || isReturned) {
    const reversalRevision = row.reversalRevision + 1;
    return { after: { ...row, reversedUnits: Math.max(0, reported - final), reversalRevision, unsent: 'reversal' } };
  }
  // The exact amount is reported first, so that the payment is paid and only the excess is a discrepancy.
  const isPaidNow = reported < due && final >= due;
  const units = isPaidNow ? due : final;
  if (units > reported) return { after: { ...row, reportedUnits: units, unsent: 'paid' } };
  const isFast = isCurrent && reported < due && due <= confirm.fastUpToUnits && final + fast >= due;
  if (isFast) {
    const counted = transfers.filter(({ state }) => state === 'final' || state === 'fast');
    const fastBlock = Math.max(...counted.map(({ blockNumber }) => blockNumber));
    return { after: { ...row, reportedUnits: due, fastBlock, unsent: 'paid' } };
  }
  return progress() ?? settlement();

  function paid(): WatchedSignal {
    const counted = transfers.filter(({ state }) => state !== 'seen');
    const txHash = completing(counted, reported);
    const report = { ...NO_DETAILS, state: 'paid' as const, received: usdc(reported), txHash };
    const acceptsShortfall = reported < due && reported >= due - confirm.toleranceUnits;
    return { ...paymentSignal(row, report), eventId: eventId(reported), acceptsShortfall };
  }

  /** Report that money was seen, once for each new sum, and again before the expected time passes. */
  function progress(): Verdict | undefined {
    const sum = final + fast + seen;
    const isOpen = fast + seen > 0;
    if (reported >= due || sum === 0) return undefined;
    const minutes = sum < due ? Math.max(chain.boundMinutes, COMPLETION_MINUTES) : chain.boundMinutes;
    const isLate = isOpen && (row.expectedBy ?? 0) - now < (minutes * MINUTE_MS) / 3;
    if (sum === row.announcedUnits && !isLate) return undefined;
    const expectedBy = now + minutes * MINUTE_MS;
    const report = { ...NO_DETAILS, state: 'processing' as const, expectedBy };
    return {
      signal: { ...paymentSignal(row, report), eventId: eventId(`seen_${sum}_${expectedBy}`) },
      after: { ...row, announcedUnits: sum, expectedBy, hotUntil: Math.max(row.hotUntil, hotAfter(expectedBy)) },
    };
  }

  /** Final money is in the merchant's wallet, so it counts as paid out. */
  function settlement(): Verdict | undefined {
    if (row.settled || reported < due - confirm.toleranceUnits || final < reported) return undefined;
    const entry = { payout: completing(transfers, reported), settledAt: null, amount: null, moved: null };
    const signal = { about: 'settlement', ref: { paymentId: row.paymentId }, entry } as const;
    return { signal: { ...signal, eventId: eventId('settled') }, after: { ...row, settled: true } };
  }
}

/** Time until which an address stays hot, if its payment ends at the time `end`. */
export function hotAfter(end: Instant): Instant {
  return end + 24 * 60 * MINUTE_MS;
}

/** Report about final money that arrived on another chain than the one of the payment. It cannot be booked. */
export function strayOf(row: ChainAddress, transfer: ChainTransfer, chain: Chain): WatchedSignal {
  const { txHash, logIndex, units } = transfer;
  const received = { ...usdc(units), currency: `USDC/${chain.name}` };
  const report = { ...NO_DETAILS, state: 'paid' as const, received, txHash };
  return { ...paymentSignal(row, report), eventId: `chain_${chain.chainId}_${txHash}_${logIndex}` };
}

function paymentSignal({ paymentId }: ChainAddress, report: ProviderReport) {
  return { about: 'payment', ref: { paymentId }, report } as const;
}

export function usdc(units: number): ProviderAmount {
  return { units: BigInt(units), currency: 'USDC', exponent: 6 };
}

function reversalOf({ paymentId, address, reversedUnits, reversalRevision }: ChainAddress) {
  // Fractions of a cent of the remaining money do not count, as in a report about received money.
  const cents = Math.ceil(reversedUnits / UNITS_PER_CENT);
  const reversal = {
    reference: `reorganization_${address}`,
    status: cents > 0 ? ('open' as const) : ('won' as const),
    revision: reversalRevision,
    taken: amountInCents(cents),
    fee: amountInCents(0),
    reason: 'reorganized',
  };
  return { about: 'reversal', ref: { paymentId }, reversal } as const;
}

/** Hash of the transaction with which the transfers, oldest first, reach `units`. */
function completing(transfers: readonly ChainTransfer[], units: number): string | null {
  let sum = 0;
  return transfers.find((transfer) => (sum += transfer.units) >= units)?.txHash ?? null;
}

/** Reason for which the routes of an instance cannot be used, by its cursor; undefined if they can be used. */
export function standbyReason(cursor: ChainCursor | undefined, now: Instant): string | undefined {
  if (!cursor?.problem || cursor.failingSince === null) return undefined;
  const isOff = cursor.disagreements >= OFF_AFTER_DISAGREEMENTS || now - cursor.failingSince >= OFF_AFTER_MS;
  return isOff ? cursor.problem : undefined;
}

/** True if the stored rows may lack transfers of the last minute, so that no payment may time out by them. */
export function isBehind(cursor: ChainCursor | undefined, now: Instant): boolean {
  return cursor === undefined || now - cursor.polledAt > BEHIND_AFTER_MS;
}
