/// What a value of MMKV was stored as: its files do not say.
public enum MMKVType: String, Sendable, Hashable, CaseIterable {
  case bool, int32, uint32, int64, uint64, float, double, string
  /// Data, with the length that MMKV writes in front of it taken away.
  case bytes
  /// A list of strings: a set of strings on Android.
  case strings
  /// A date, as MMKV has them on Apple's platforms.
  case date
  /// An archive of `NSKeyedArchiver`, as MMKV has objects on Apple's platforms.
  case archive
  /// The bytes as they are in the file, whatever they are: strings and data have their length in front of them.
  case raw
}
