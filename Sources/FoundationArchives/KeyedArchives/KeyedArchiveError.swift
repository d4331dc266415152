/// Why an archive of `NSKeyedArchiver` is not read. What was stored stays where it is.
package struct KeyedArchiveError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
