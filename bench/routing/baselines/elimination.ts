import type { BenchOutcome, BenchPayment } from '../contender.ts';

const REWARD_FACTOR = 1 + 5.26 / 100;
const PENALTY_FACTOR = 1 - 5 / 100;
const LIFE_SECONDS = 9000;
/** Number of processed attempts after which they are removed from the list, all at once. */
const SWEPT_KEPT = 1000;

/** Downtime scores of the arms; an arm below the threshold is eliminated. */
export interface Elimination {
  isOut(arm: number, now: number): boolean;
  add(arm: number, reward: number, now: number): void;
}

/**
 * Creates the downtime scores. A score starts at 1, grows by 5.26 % with a success up to 1, shrinks by 5 % with a failure, and
 * expires after 9,000 s without a change. Source: juspay/decision-engine, src/feedback/gateway_elimination_scoring/flow.rs and
 * src/feedback/constants.rs.
 */
export function createElimination(arms: number, threshold: number): Elimination {
  const scores = new Float64Array(arms).fill(1);
  const touchedAt = new Float64Array(arms).fill(-Infinity);
  const scoreAt = (arm: number, now: number): number => (now - touchedAt[arm]! > LIFE_SECONDS ? 1 : scores[arm]!);
  return {
    isOut: (arm, now) => scoreAt(arm, now) < threshold,
    add(arm, reward, now) {
      const score = scoreAt(arm, now);
      scores[arm] = reward === 1 ? Math.min(1, score * REWARD_FACTOR) : score * PENALTY_FACTOR;
      touchedAt[arm] = now;
    },
  };
}

/** Attempts without an outcome, which become overdue after a threshold. */
export interface OverdueAttempts {
  start(payment: BenchPayment, arm: number): void;
  /** Calls `penalise` once for each attempt that has become overdue by `now`. */
  sweep(now: number, penalise: (arm: number, at: number) => void): void;
  /** Returns true if the attempt was penalised as overdue before. */
  finish(outcome: BenchOutcome): boolean;
}

/** Tracks the attempts that reach the latency threshold. Source: juspay/decision-engine, src/feedback/gateway_scoring_service.rs. */
export function createOverdueAttempts(thresholdSeconds: number): OverdueAttempts {
  const attempts: { key: string; arm: number; at: number }[] = [];
  const known = new Set<string>();
  const penalised = new Set<string>();
  const keyOf = (payment: BenchPayment, arm: number): string => `${payment.number}/${arm}`;
  let swept = 0;
  return {
    start: (payment, arm) => void attempts.push({ key: keyOf(payment, arm), arm, at: payment.at + thresholdSeconds }),
    sweep(now, penalise) {
      for (let first = attempts[swept]; first !== undefined && first.at <= now; first = attempts[swept]) {
        swept += 1;
        if (known.delete(first.key)) continue;
        penalised.add(first.key);
        penalise(first.arm, first.at);
      }
      if (swept < SWEPT_KEPT) return;
      attempts.splice(0, swept);
      swept = 0;
    },
    finish(outcome) {
      const key = keyOf(outcome.payment, outcome.arm);
      if (penalised.delete(key)) return true;
      known.add(key);
      return false;
    },
  };
}
