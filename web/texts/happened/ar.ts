// What stands in the log of an account, in Arabic.

import type { happened as english } from './en.ts'

export const happened: typeof english = {
  result: { success: 'نجح', fail: 'رُفض', ratelimited: 'محاولات كثيرة جدًا' },
  actions: {
    'account created': 'إنشاء الحساب',
    authentication: 'تسجيل دخول',
    'password change': 'تغيير كلمة المرور',
    reset: 'إنشاء كلمة مرور مؤقتة',
    'enable 2fa totp': 'تفعيل تطبيق المصادقة',
    'disable 2fa totp': 'إيقاف تطبيق المصادقة',
    'check 2fa totp': 'رمز من تطبيق المصادقة',
    'enable 2fa custom': 'تفعيل عامل ثانٍ لدى خدمة أخرى',
    'disable 2fa custom': 'إيقاف عامل ثانٍ لدى خدمة أخرى',
    'disable 2fa': 'إيقاف كل العوامل الثانية',
    'register webauthn': 'تسجيل مفتاح',
    'remove webauthn': 'إزالة مفتاح',
    'check 2fa webauthn': 'مفتاح أمان',
    'create asp': 'إنشاء كلمة مرور تطبيق',
    'delete asp': 'سحب كلمة مرور تطبيق',
    'session ended': 'إنهاء جلسة',
    'sessions ended': 'إنهاء الجلسات الأخرى',
    logout: 'تسجيل الخروج من كل مكان',
    'user forward added': 'إضافة إعادة توجيه',
    'filter added': 'إضافة مرشح',
    'filter forward added': 'إضافة مرشح يعيد التوجيه',
    impersonate: 'أحدهم يتصرف باسم هذا المستخدم',
    'impersonate end': 'انتهى التصرف باسم هذا المستخدم',
    'delete user': 'حذف الحساب',
    'restore user': 'استعادة الحساب',
  },
}
