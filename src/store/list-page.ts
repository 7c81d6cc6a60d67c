/** Request for a page of a list, sorted newest first: at most `limit` records after or before the record with the given id. */
export interface Page {
  limit: number;
  startingAfter?: string;
  endingBefore?: string;
}

/** Records of a page, newest first; `hasMore` tells whether the list continues in the requested direction. */
export interface PageResult<Item> {
  items: Item[];
  hasMore: boolean;
  /** Id at which a bounded search ended before the page was full: the cursor of the next page. */
  searchedTo?: string;
}
