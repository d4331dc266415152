/// A data item's type: the three high bits of its head (RFC 8949 §3.1).
enum CBORMajorType: UInt8 {
  case unsigned = 0
  case negative = 1
  case bytes = 2
  case text = 3
  case array = 4
  case map = 5
  case tag = 6
  /// Simple values, floating-point numbers and the break.
  case simple = 7
}
