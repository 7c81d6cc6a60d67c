import * as fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/** Unit of strings of any code points. The `binary` unit of fast-check is a table whose construction takes a second. */
export const anyCodePoint = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((place) => String.fromCodePoint(place < SURROGATES.first ? place : place + SURROGATES.count));
