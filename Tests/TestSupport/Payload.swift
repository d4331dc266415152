/// The text that CacheTestProcess stores as its `number`-th write.
package func payload(_ key: String, _ number: Int, _ size: Int) -> String {
  let head = "\(key)#\(number);"
  let letter = UInt8(97 + number % 26)
  return head + String(decoding: [UInt8](repeating: letter, count: max(0, size - head.utf8.count)), as: UTF8.self)
}
