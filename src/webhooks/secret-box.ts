import type { RandomBytes } from '../domain/id.ts';
import type { SealedSecret } from '../domain/webhook-endpoint.ts';
import { open, seal } from './seal.ts';

/** Where the keys are that secrets are sealed with. */
export interface EncryptionKeys {
  /** Those that there are now; the first one seals, all open. */
  known(): readonly Uint8Array[];
  /** The one to seal with, made where that is possible. Throws where there is none. */
  forSealing(): Uint8Array;
}

type Place = Pick<SealedSecret, 'endpointId' | 'environment'>;

/** Secrets of endpoints, as they are kept and as they are used. */
export interface SecretBox {
  /** A new secret, `whsec_...`, and the same sealed for that endpoint. Throws where there is no key to seal with. */
  newSecret(place: Place): { secret: string; sealed: string };
  /** The secret; undefined where no key opens it. */
  open(sealed: SealedSecret): string | undefined;
  /** The same secret sealed with the first key; undefined where it is that already, or no key opens it. */
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

/** A secret that was copied to another endpoint does not open there. */
function contextOf({ endpointId, environment }: Place): string {
  return `${endpointId} ${environment}`;
}
