/** Signs `webhook.example`, and nothing else: everybody may know it. `whsec_` and base64 of 32 bytes. */
export const SAMPLE_WEBHOOK_SECRET = 'whsec_dGlsbHdheSBzYW1wbGUgd2ViaG9vayBzZWNyZXQgIzE=';

/** Signs payloads for `webhook.verify_sample`, and nothing else: everybody may know it. */
export const SAMPLE_PROVIDER_SECRET = 'tillway_sample_provider_secret';

/** Prefix that separates samples from the callbacks of a real provider. */
export const SAMPLE_EVENT_PREFIX = 'sample:';
