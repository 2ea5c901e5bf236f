// One variable however many units have it.
inline int everywhere = 0;
template <typename T> struct holder {
    static T value;
};
template <typename T> T holder<T>::value = 0;
