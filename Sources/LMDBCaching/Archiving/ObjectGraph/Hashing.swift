#if !canImport(Darwin)
  /// Whether Foundation on Linux can have objects of a class as keys of a dictionary or elements of a set.
  enum Hashing {
    case sound
    /// It can; but to compare the dictionary or the set with another one ends the process.
    case fragile
    /// It cannot: to ask for the hash never ends, or equal objects have different ones.
    case broken
  }
#endif
