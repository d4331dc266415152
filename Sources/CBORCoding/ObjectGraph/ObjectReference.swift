#if !canImport(Darwin)
  /// An archive offset with a one-byte placeholder for a reference.
  struct ObjectReference {
    var offset: Int
    /// The object's number in the identity table.
    let entry: Int
  }

  /// State of the object being encoded.
  struct EncodingFrame {
    /// The index of its first key in the archiver's list.
    var firstKey = 0
    /// Values encoded without a key.
    var unkeyedCount = 0
  }
#endif
