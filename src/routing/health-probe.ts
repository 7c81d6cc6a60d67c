import type { Instant } from '../domain/records.ts';
import { HEALTH_POLICY, windowMs } from './health-policy.ts';
import type { HealthRecord } from './health-record.ts';

/** True if one payment may now probe a route in automatic standby. */
export function canProbe({ retryAt, leaseUntil }: HealthRecord, now: Instant): boolean {
  return retryAt !== null && retryAt <= now && (leaseUntil === null || leaseUntil <= now);
}

/**
 * Leases a probe to one payment until the payment has a result or the lease expires. `medianSeconds` is the usual time to a result,
 * or null. Undefined if no probe may start.
 */
export function leaseProbe(
  record: HealthRecord,
  paymentId: string,
  now: Instant,
  medianSeconds: number | null = null,
): HealthRecord | undefined {
  if (!canProbe(record, now)) return undefined;
  const leaseUntil = now + windowMs(HEALTH_POLICY.probeLeaseSeconds, medianSeconds);
  return { ...record, leaseUntil, leasePaymentId: paymentId, version: record.version + 1 };
}

/** The record without the lease of a payment whose result is known; undefined if the payment has no lease. */
export function releaseProbe(record: HealthRecord, paymentId: string): HealthRecord | undefined {
  if (record.leasePaymentId !== paymentId) return undefined;
  return { ...record, leaseUntil: null, leasePaymentId: null, version: record.version + 1 };
}
