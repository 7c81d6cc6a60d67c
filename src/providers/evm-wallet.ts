import { hash } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { HDKey } from '@scure/bip32';

const ACCOUNT_DEPTH = 3;
const FINGERPRINT_LENGTH = 16;
const ADDRESS_BYTES = 20;

/** Addresses of an account, derived from its extended public key. No private key is known. */
export interface Wallet {
  /** Identifies the key in the database, which does not contain the key itself. */
  fingerprint: string;
  /** Address of the path 0/`index` below the account, with its checksum. */
  address(index: number): string;
}

/** Fault of an extended public key, without the key; undefined if the key is valid. */
export function faultOfXpub(xpub: string): string | undefined {
  let key: HDKey;
  try {
    key = HDKey.fromExtendedKey(xpub);
  } catch {
    return 'must be an extended public key: xpub followed by 107 letters and digits, copied completely';
  }
  // The library also accepts a private key, with which an intruder could spend all the money of the account.
  if (key.privateKey !== null)
    return 'must be an extended public key (xpub): this is a private key, which must not be on a server';
  if (key.depth !== ACCOUNT_DEPTH)
    return `must be the key of an account, m/44'/60'/0' (depth 3): this key has depth ${key.depth}`;
  return undefined;
}

export function createWallet(xpub: string): Wallet {
  const account = HDKey.fromExtendedKey(xpub);
  const receiving = account.deriveChild(0);
  return {
    fingerprint: hash('sha256', xpub, 'hex').slice(0, FINGERPRINT_LENGTH),
    address(index) {
      const { publicKey } = receiving.deriveChild(index);
      const point = secp256k1.Point.fromBytes(publicKey!).toBytes(false);
      return checksummed(
        Buffer.from(keccak_256(point.subarray(1)))
          .toString('hex')
          .slice(-2 * ADDRESS_BYTES),
      );
    },
  };
}

/** The address of 40 hexadecimal digits with its checksum: https://eips.ethereum.org/EIPS/eip-55 */
export function checksummed(digits: string): string {
  const lower = digits.toLowerCase();
  const sum = Buffer.from(keccak_256(Buffer.from(lower))).toString('hex');
  return `0x${Array.from(lower, (digit, at) => (Number.parseInt(sum[at]!, 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`;
}

/** True for an address whose checksum is right, or that has letters of one case only. */
export function isAddress(text: string): boolean {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return false;
  const digits = text.slice(2);
  return digits === digits.toLowerCase() || digits === digits.toUpperCase() || checksummed(digits) === text;
}
