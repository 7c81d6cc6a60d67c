import { SAMPLE_PROVIDER_SECRET, SAMPLE_WEBHOOK_SECRET } from '../samples.ts';

/** All that a receiver of webhooks has to know. */
export const WEBHOOK_GUIDE: Record<string, unknown> = {
  delivery: 'POST of the event to the URL your operator registered.',
  events: [
    { type: 'payment.provider_pending', meaning: 'Accepted by the provider.', fulfill: false },
    { type: 'payment.paid', meaning: 'Confirmed.', fulfill: true },
    { type: 'payment.failed', meaning: 'Failed, timed out or rejected.', fulfill: false },
  ],
  headers: 'x-gateway-event and webhook-id: event id. webhook-timestamp: unix seconds.',
  signature: {
    header: 'x-gateway-signature',
    format: 't=<unix seconds>,v1=<hex>; several v1 while a secret rotates',
    algorithm: 'HMAC-SHA256 (all here)',
    signedString: 't + "." + raw body',
    key: 'the whole secret as text, whsec_ included',
    toleranceSeconds: 300,
  },
  standardWebhooks: {
    header: 'webhook-signature',
    format: 'v1,<base64>; several, space-separated, while a secret rotates',
    signedString: 'webhook-id + "." + webhook-timestamp + "." + raw body',
    key: 'the part after whsec_, base64-decoded',
  },
  sampleSecret: SAMPLE_WEBHOOK_SECRET,
  verifySample: {
    secret: SAMPLE_PROVIDER_SECRET,
    signedString: 't + "." + payload as compact JSON in the key order sent',
    key: 'the secret as text',
  },
  acknowledge: 'Exactly HTTP 200 within 15 s, or it is retried.',
  retries: {
    sandbox: '0 s, 5 s, 1 min, 10 min, 1 h',
    production: '0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h; +-20 %',
  },
  ordering: 'Kept per session.',
  idempotency: 'Process each event id once.',
  rules: ['Verify the signature before changing orders.', 'Store the raw payload.'],
};
