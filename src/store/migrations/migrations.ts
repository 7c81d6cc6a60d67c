import { initial } from './001-initial.ts';

/** Forward only, in order. One that has been released is never edited: the next change is the next number. */
export const MIGRATIONS: readonly { version: number; name: string; sql: string }[] = [
  { version: 1, name: 'initial', sql: initial },
];
