/** That of the program, as it names itself to whoever asks. */
export const VERSION = '0.1.0';
