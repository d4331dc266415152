extension Cursor {
  /// A key and its value, in the map.
  public struct Entry {
    public let key: UnsafeRawBufferPointer
    public let value: UnsafeRawBufferPointer
  }
}
