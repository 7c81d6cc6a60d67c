import type { RandomBytes } from '../domain/id.ts';
import type { SealedSecret } from '../domain/webhook-endpoint.ts';
import { open, seal } from './seal.ts';

/** Keys for sealing secrets. */
export interface EncryptionKeys {
  /** The present keys: the first one seals, all open. */
  known(): readonly Uint8Array[];
  /** The key to seal with, created if possible. Throws without one. */
  forSealing(): Uint8Array;
}

type Place = Pick<SealedSecret, 'endpointId' | 'environment'>;

/** Creates, seals and opens the secrets of endpoints. */
export interface SecretBox {
  /** A new secret, `whsec_...`, and its sealed text for that endpoint. Throws without a key to seal with. */
  newSecret(place: Place): { secret: string; sealed: string };
  /** The secret; undefined if no key opens it. */
  open(sealed: SealedSecret): string | undefined;
  /** The secret sealed with the first key; undefined if it already is, or if no key opens it. */
  resealed(sealed: SealedSecret): string | undefined;
}

const SECRET_BYTES = 32;

export function createSecretBox(keys: EncryptionKeys, randomBytes: RandomBytes): SecretBox {
  return {
    newSecret(place) {
      const key = keys.forSealing();
      const secret = `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`;
      return { secret, sealed: seal(secret, key, contextOf(place), randomBytes) };
    },
    open: (sealed) => openWithAny(keys.known(), sealed),
    resealed(sealed) {
      const [first, ...others] = keys.known();
      if (!first || openWithAny([first], sealed) !== undefined) return undefined;
      const secret = openWithAny(others, sealed);
      return secret === undefined ? undefined : seal(secret, first, contextOf(sealed), randomBytes);
    },
  };
}

function openWithAny(keys: readonly Uint8Array[], sealed: SealedSecret): string | undefined {
  for (const key of keys) {
    const secret = open(sealed.sealed, key, contextOf(sealed));
    if (secret !== undefined) return secret;
  }
  return undefined;
}

/** Binds a secret to its endpoint: a copy for another endpoint does not open. */
function contextOf({ endpointId, environment }: Place): string {
  return `${endpointId} ${environment}`;
}
