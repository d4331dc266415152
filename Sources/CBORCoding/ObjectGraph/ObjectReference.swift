#if !canImport(Darwin)
  /// A place in an archive that is being written which refers to an object; there is one byte, to be replaced.
  struct ObjectReference {
    var offset: Int
    /// The number of the object in the table of identities.
    let entry: Int
  }

  /// What an archiver knows about the object that it is encoding.
  struct EncodingFrame {
    /// The first of its keys in the archiver's list.
    var firstKey = 0
    /// How many values it has encoded without a key.
    var unkeyedCount = 0
  }
#endif
