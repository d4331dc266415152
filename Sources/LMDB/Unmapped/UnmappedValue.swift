/// The value at an ``UnmappedCursor``. Its bytes are valid until the cursor moves or more of a value is read.
package struct UnmappedValue {
  /// Bytes.
  package let size: Int
  private let cursor: UnmappedCursor
  /// The whole value, if it is in the leaf.
  private let inline: UnsafeRawPointer?
  /// The value's first overflow page, if any, and the page that refers to it.
  private let page: UInt64
  private let parent: UInt64

  init(_ cursor: UnmappedCursor, inline: UnsafeRawPointer, size: Int) {
    self.cursor = cursor
    self.inline = inline
    self.size = size
    (page, parent) = (0, 0)
  }

  init(_ cursor: UnmappedCursor, page: UInt64, size: Int, parent: UInt64) {
    self.cursor = cursor
    self.page = page
    self.parent = parent
    self.size = size
    inline = nil
  }

  /// The first bytes: at least `count`, if the value has that many.
  package func beginning(_ count: Int) throws(DataFileError) -> UnsafeRawBufferPointer {
    if let inline { return UnsafeRawBufferPointer(start: inline, count: size) }
    return try cursor.readOverflow(page, count: min(max(0, count), size), size: size, from: parent)
  }

  package func bytes() throws(DataFileError) -> UnsafeRawBufferPointer { try beginning(size) }
}
