import { type KeyObject, createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** Defect of a forged callback. The signature itself is valid unless the name of the defect says otherwise. */
export type PaypalForgery =
  /** Signature of a key that is not in the certificate. */
  | 'other_key'
  /** One byte of the body changes after the signature. */
  | 'changed_body'
  /** Signature for the webhook of another app. */
  | 'other_webhook_id'
  /** A time ten days ago. */
  | 'old'
  /** A time in ten days. */
  | 'future'
  /** The certificate URL is at a host that begins with PayPal's name. */
  | 'foreign_host'
  /** The certificate URL names PayPal's host as its user. */
  | 'host_in_user'
  /** The certificate URL is at `localhost`: the same server with the same certificate, but another origin. */
  | 'other_origin'
  /** The certificate URL is at PayPal's host, but over HTTP. */
  | 'http_cert_url'
  /** The certificate URL is outside of PayPal's path; the server answers with the genuine certificate. */
  | 'cert_path'
  /** The certificate URL leaves PayPal's path with `..`; the server answers with the genuine certificate. */
  | 'cert_traversal'
  /** The certificate does not exist. */
  | 'unknown_certificate'
  /** SHA-1. */
  | 'other_algorithm'
  | 'unsigned'
  | 'expired_certificate'
  /** A certificate with a name that is not PayPal's. */
  | 'other_name'
  /** A certificate with PayPal's name that signs itself. Only an adapter with configured roots can tell. */
  | 'foreign_root';

/** All defects, except `foreign_root`, which needs configured roots. */
export const PAYPAL_FORGERIES = [
  'other_key',
  'changed_body',
  'other_webhook_id',
  'foreign_host',
  'host_in_user',
  'other_origin',
  'http_cert_url',
  'cert_path',
  'cert_traversal',
  'unknown_certificate',
  'other_algorithm',
  'unsigned',
  'expired_certificate',
  'other_name',
] as const satisfies PaypalForgery[];

/** Id of the webhook of another app. */
export const OTHER_WEBHOOK_ID = '9XX99999XX999999X';

export interface PaypalCallback {
  body: string;
  headers: Record<string, string>;
}

const fixture = (name: string): string => readFileSync(new URL(`certificates/${name}`, import.meta.url), 'utf8');
const TEN_DAYS = 10 * 86_400_000;
const CERTS = '/v1/notifications/certs';

/** Certificate, as PEM, of the authority that signed the certificate of the scripted PayPal. */
export const PAYPAL_TEST_ROOT = fixture('ca.pem');

/** Certificates, as PEM, by the last part of their URL. */
export const PAYPAL_CERTIFICATES: Readonly<Record<string, string>> = {
  'CERT-test': fixture('paypal.pem'),
  'CERT-chain': fixture('paypal.pem') + PAYPAL_TEST_ROOT,
  'CERT-expired': fixture('expired.pem'),
  'CERT-other-name': fixture('other-name.pem'),
  'CERT-foreign-root': fixture('foreign-root.pem'),
};

const KEY = fixture('paypal.key');

let strangersKey: KeyObject | undefined;
function keyOf(forgery: PaypalForgery | undefined): string | KeyObject {
  if (forgery !== 'other_key') return KEY;
  strangersKey ??= generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  return strangersKey;
}

function certificateUrl(forgery: PaypalForgery | undefined, url: string, name: string): string {
  const { host, port } = new URL(url);
  switch (forgery) {
    case 'foreign_host':
      return `https://api.sandbox.paypal.com.attacker.example${CERTS}/${name}`;
    case 'host_in_user':
      return `http://api.sandbox.paypal.com@${host}${CERTS}/${name}`;
    case 'other_origin':
      return `http://localhost:${port}${CERTS}/${name}`;
    case 'http_cert_url':
      return `http://api.sandbox.paypal.com${CERTS}/${name}`;
    case 'cert_path':
      return `${url}/uploads/${name}`;
    case 'cert_traversal':
      return `${url}${CERTS}/../../../uploads/${name}`;
    case 'unknown_certificate':
      return `${url}${CERTS}/CERT-unknown`;
    case 'expired_certificate':
      return `${url}${CERTS}/CERT-expired`;
    case 'other_name':
      return `${url}${CERTS}/CERT-other-name`;
    case 'foreign_root':
      return `${url}${CERTS}/CERT-foreign-root`;
    case 'other_key':
    case 'changed_body':
    case 'other_webhook_id':
    case 'old':
    case 'future':
    case 'other_algorithm':
    case 'unsigned':
    case undefined:
      return `${url}${CERTS}/${name}`;
  }
}

export interface Signing {
  url: string;
  webhookId: string;
  /** Last part of the URL of the certificate. */
  certificate: string;
  /** Time of the first transmission, in milliseconds since 1970. */
  timeMs: number;
  transmissionId?: string;
  forgery?: PaypalForgery | undefined;
}

/** Signs the body of a callback as PayPal does, or with the defect `forgery`. */
export function signedCallback(body: string, signing: Signing): PaypalCallback {
  const { url, webhookId, certificate, timeMs, transmissionId = randomUUID(), forgery } = signing;
  const shift = forgery === 'old' ? -TEN_DAYS : forgery === 'future' ? TEN_DAYS : 0;
  const time = `${new Date(timeMs + shift).toISOString().slice(0, 19)}Z`;
  const webhook = forgery === 'other_webhook_id' ? OTHER_WEBHOOK_ID : webhookId;
  const signature = createSign(forgery === 'other_algorithm' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(`${transmissionId}|${time}|${webhook}|${crc32(Buffer.from(body))}`)
    .sign(keyOf(forgery), 'base64');
  const headers = {
    'content-type': 'application/json',
    'paypal-transmission-id': transmissionId,
    'paypal-transmission-time': time,
    'paypal-cert-url': certificateUrl(forgery, url, certificate),
    'paypal-auth-algo': forgery === 'other_algorithm' ? 'SHA1withRSA' : 'SHA256withRSA',
    'paypal-auth-version': 'v2',
    ...(forgery !== 'unsigned' && { 'paypal-transmission-sig': signature }),
  };
  return { body: forgery === 'changed_body' ? body.replace('"id":', '"id": ') : body, headers };
}
