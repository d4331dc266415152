/// The type of a stored MMKV value, which the files do not record.
public enum MMKVType: String, Sendable, Hashable, CaseIterable {
  case bool, int32, uint32, int64, uint64, float, double, string
  /// Data, without the length that MMKV writes before it.
  case bytes
  /// A list of strings: a set of strings on Android.
  case strings
  /// A date, as stored on Apple's platforms.
  case date
  /// An `NSKeyedArchiver` archive, as objects are stored on Apple's platforms.
  case archive
  /// The raw bytes in the file. For strings and data they include the length.
  case raw
}
