/** The two ways in which a delivery is signed, by the header that holds the signature. */
export type Scheme = 'x-gateway-signature' | 'webhook-signature';

export const GATEWAY = 'x-gateway-signature';
export const STANDARD = 'webhook-signature';
