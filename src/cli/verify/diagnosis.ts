import type { HeaderLine } from './headers.ts';
import type { GivenSecret } from './keys.ts';
import type { Scheme } from './schemes.ts';

/** A delivery as it was received, and what it is to be held against. */
export interface Received {
  headers: readonly HeaderLine[];
  body: Buffer;
  /** One, or those of several environments or of a rotation. */
  secrets: readonly GivenSecret[];
  /** Unix seconds. */
  now: number;
  toleranceSeconds: number;
  /** The environment that is expected, where there is one. */
  environment?: 'sandbox' | 'production' | undefined;
}

/** Why it is refused. `proven`: by computing the signature anew; else it is what is likely. */
export interface Finding {
  cause: string;
  certainty: 'proven' | 'likely';
  message: string;
  fix: string;
}

export interface Diagnosis {
  genuine: boolean;
  /** The schemes under which the signature is right as it stands. */
  schemes: Scheme[];
  /** The name of the secret that fits, where several were given. */
  secret: string | null;
  event: { id: string; type: string; environment: 'sandbox' | 'production' | null } | null;
  /** How long ago it was signed, by the clock here; negative for the future, null where no time is known. */
  ageSeconds: number | null;
  /** Why it is not genuine: what is proven first. Empty exactly where it is genuine. */
  findings: Finding[];
}
