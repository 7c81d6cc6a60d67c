import type { Instant } from '../domain/records.ts';
import { HEALTH_POLICY } from './health-policy.ts';
import type { HealthRecord } from './health-record.ts';

/** Whether one payment may now try a route that is in automatic standby. */
export function canProbe(record: HealthRecord, now: Instant): boolean {
  const { retryAt, leaseUntil } = record;
  if (retryAt === null || retryAt > now) return false;
  return leaseUntil === null || leaseUntil <= now;
}

/**
 * The record with the route lent to one payment. The lease ends with any result of that payment, or by itself: a result
 * that is never heard of must not keep a route in standby. Undefined where no probe may start.
 */
export function leaseProbe(
  record: HealthRecord,
  paymentId: string,
  now: Instant,
  policy = HEALTH_POLICY,
): HealthRecord | undefined {
  if (!canProbe(record, now)) return undefined;
  const leaseUntil = now + policy.probeLeaseSeconds * 1000;
  return { ...record, leaseUntil, leasePaymentId: paymentId, version: record.version + 1 };
}

/** The record without the lease of that payment, whose result is known; undefined where it holds none. */
export function releaseProbe(record: HealthRecord, paymentId: string): HealthRecord | undefined {
  if (record.leasePaymentId !== paymentId) return undefined;
  return { ...record, leaseUntil: null, leasePaymentId: null, version: record.version + 1 };
}
