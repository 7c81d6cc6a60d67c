import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../domain/gateway-error.ts';
import type { AdapterContext } from './adapter-context.ts';
import type { AdyenInstance } from './adyen-api.ts';
import { signalsOf } from './adyen-messages.ts';
import { type NotificationItem, readNotification } from './adyen-objects.ts';
import type { Callback, CallbackHeaders, Finding } from './provider.ts';

/** Number of consecutive callbacks with a wrong signature after which the key of this service must be wrong. */
const MOST_MISSES = 3;
/** Body of the answer that Adyen expects. */
const ACCEPTED = '[accepted]';
const SELECT_STATE = 'SELECT notified_at FROM provider_states WHERE provider = ?1';
const INSERT_STATE = 'INSERT INTO provider_states (provider, notified_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING';

export interface AdyenCallbacks {
  /** Verifies a callback and all of its items. Throws GatewayError `unauthorized`. */
  read(rawBody: Buffer, headers: CallbackHeaders): Promise<Callback>;
  /** Finding about the callbacks that have arrived so far. */
  finding(): Promise<Finding>;
}

/** Reader of the callbacks of one instance. A callback is the only proof that Adyen has taken money. */
export function createAdyenCallbacks(
  { id, environment, settings }: AdyenInstance,
  context: AdapterContext,
): AdyenCallbacks {
  const { database, now, log } = context;
  const keys = settings.hmacKeys.map((key) => Buffer.from(key, 'hex'));
  const isLive = environment === 'production';
  // The callbacks of another merchant account prove nothing about this one.
  const state = `${id} ${settings.merchantAccount}`;
  /** Consecutive callbacks with a wrong signature. */
  let misses = 0;
  let isNotified = false;

  async function hasArrived(): Promise<boolean> {
    if (!isNotified) isNotified = (await database?.select(SELECT_STATE, state))?.length === 1;
    return isNotified;
  }

  /** Records that a callback was verified. The first one makes the instance ready. */
  async function recordVerified(): Promise<void> {
    const wasFailing = misses >= MOST_MISSES;
    misses = 0;
    const isFirst = !(await hasArrived());
    if (isFirst && database) await database.write([{ sql: INSERT_STATE, params: [state, now()] }], id);
    isNotified = true;
    if (isFirst || wasFailing) context.onNews();
  }

  function recordMiss(): void {
    misses += 1;
    if (misses === MOST_MISSES) context.onNotReady(WRONG_KEY.message);
  }

  return {
    async read(rawBody, headers) {
      if (!hasPassword(settings, headers))
        throw unauthorized('The user name or the password of the callback is wrong.');
      const notification = readNotification(jsonOf(rawBody));
      if (!notification) throw unauthorized('The body is not a notification of Adyen whose signature can be verified.');
      const items = notification.notificationItems.map((each) => each.NotificationRequestItem);
      // One forged item is enough to refuse the callback, so every item is verified before any is used.
      if (!items.every((item) => isSigned(item, keys))) {
        recordMiss();
        throw unauthorized('The HMAC signature of an item is wrong or missing.');
      }
      const own = items.filter(({ merchantAccountCode }) => merchantAccountCode === settings.merchantAccount);
      if (own.length === 0) return { signals: [], hints: [], reply: ACCEPTED };
      // The signature does not cover this flag. The keys of the two environments differ.
      if (String(notification.live) !== String(isLive)) {
        log.warn({ provider: id, live: notification.live }, 'callback of the other environment of Adyen ignored');
        return { signals: [], hints: [], reply: ACCEPTED };
      }
      await recordVerified();
      const signals = own.flatMap((item) =>
        signalsOf(item, now()).map((signal, index) => {
          const eventId = index === 0 ? eventIdOf(item) : `${eventIdOf(item)}:${signal.about}`;
          // Adyen can report a pending debit after its refusal.
          const outdatedBy = eventIdOf({ ...item, eventCode: 'AUTHORISATION', success: 'false' });
          return { ...signal, eventId, ...(item.eventCode === 'PENDING' && { outdatedBy }) };
        }),
      );
      return { signals, hints: [], reply: ACCEPTED };
    },

    async finding() {
      if (misses >= MOST_MISSES) return WRONG_KEY;
      if (!database) return { level: 'warning', message: UNKNOWN_ARRIVAL, todo: 'Run: tillway providers list' };
      if (await hasArrived()) return { level: 'ok', message: 'signed notifications arrive' };
      const todo = `In Adyen's Customer Area, under Developers > Webhooks, test the standard webhook with the URL ${context.callbackUrl}.`;
      return { level: 'error', message: 'no signed notification has arrived yet', todo };
    },
  };
}

const WRONG_KEY: Finding = {
  level: 'error',
  message: `${MOST_MISSES} callbacks in a row had a wrong signature: the HMAC key of the webhook is not ADYEN_HMAC_KEY`,
  todo: 'Copy the HMAC key from Developers > Webhooks in the Customer Area, and restart the service.',
};
const UNKNOWN_ARRIVAL = 'only the running service knows whether signed notifications arrive';

function eventIdOf({ pspReference, eventCode, success }: NotificationItem): string {
  return `${pspReference}:${eventCode}:${success}`;
}

/** Text that Adyen signs for an item. https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures */
export function signedText(
  item: Omit<NotificationItem, 'additionalData' | 'paymentMethod' | 'reason' | 'eventDate'>,
): string {
  const { pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode, success } = item;
  return [
    pspReference,
    originalReference ?? '',
    merchantAccountCode,
    merchantReference,
    amount.value,
    amount.currency,
    eventCode,
    success,
  ].join(':');
}

function isSigned(item: NotificationItem, keys: readonly Buffer[]): boolean {
  const given = Buffer.from(item.additionalData?.hmacSignature ?? '', 'base64');
  const text = signedText(item);
  const isRight = keys.map((key) => {
    const right = createHmac('sha256', key).update(text).digest();
    return given.length === right.length && timingSafeEqual(given, right);
  });
  return isRight.includes(true);
}

/** True if the header has the configured user name and password, or if none are configured. */
function hasPassword({ callbackUser, callbackPassword }: AdyenInstance['settings'], headers: CallbackHeaders): boolean {
  if (callbackUser === undefined) return true;
  const right = `Basic ${Buffer.from(`${callbackUser}:${callbackPassword}`).toString('base64')}`;
  const given = headers['authorization'];
  // Compares hashes, because `timingSafeEqual` requires equal lengths.
  return typeof given === 'string' && timingSafeEqual(sha256(given), sha256(right));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function jsonOf(rawBody: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
  } catch {
    return undefined;
  }
}

function unauthorized(message: string): GatewayError {
  const suggestion = 'Compare the HMAC key, the user name and the password with those of the webhook in Adyen.';
  return new GatewayError('unauthorized', message, { suggestion });
}
